-- Logs in Redis. The entries of a log are a ring of slots behind its head, so that a
-- call reads and writes only those that it is about: of 10,000 a charge moves some
-- hundred bytes, where the whole would be 140,000. A ring that is full, or far too
-- large, is written anew, which a number of charges in proportion to its length pays.

local HEAD, PAIR, PIECE = struct.size(LOG), 14, 32

-- fetch reads the slots around one, as a ring of its source.
local function fetch(src, slot)
  src.from = slot - slot % PIECE
  local start = src.start + PAIR * src.from
  src.text = call('GETRANGE', keys[src.key], start, start + PAIR * PIECE - 1)
  src.skip, src.to = 1 - PAIR * src.from, src.from + #src.text / PAIR
end

-- entry returns the instant of the entry of a log at a position, and the sum of the
-- costs up to it.
function entry(log, position)
  if position >= log.stored then
    local e = log.top
    while e and e.position > position do
      e = e.prev
    end
    if not e then
      return log.newest, log.sum -- the head of the value was damaged
    end
    return e.at, e.sum
  end
  local src = log.src
  local slot = position % src.size
  if slot < src.from or slot >= src.to then
    fetch(src, slot)
    if slot >= src.to then
      return 0, log.base -- somebody has cut the value short
    end
  end
  return unpack('<I7I7', src.text, src.skip + PAIR * slot)
end

-- source is the entries in a text, as they are when not in Redis.
function source(text)
  local n = #text / PAIR
  return {text = text, skip = 1, from = 0, to = n, size = max(n, 1)}
end

-- readOld returns a log of the layout of before, which has costs instead of sums. It
-- takes many at once, which costs a fifth.
local function readOld(value, size, t)
  local texts, sum, oldest, newest, n = {}, 0, 0, 0, (#value - size) / PAIR
  for i = 0, n - 1, PIECE do
    local count = 2 * min(PIECE, n - i)
    local format = '<' .. rep('I7', count)
    local words = {unpack(format, value, size + 1 + PAIR * i)}
    for j = 2, count, 2 do
      sum = t.plus(sum, words[j])
      words[j] = sum
    end
    if i == 0 then
      oldest = words[1]
    end
    newest = words[count - 1]
    texts[#texts + 1] = pack(format, spread(words, 1, count))
  end
  return t.new(source(concat(texts)), 0, n, n, nil, 0, oldest, newest, sum)
end

-- readLog is read for a log. It says besides whether the log has to be written because
-- it is of the layout of before.
local function readLog(k, value, t, p)
  local head = byte(value)
  if head % 2 == 1 then
    if #value == WINDOW then
      value = call('GET', keys[k])
    end
    local size = struct.size(t.wide)
    if #value < size or (#value - size) % PAIR ~= 0 then
      return nil, FOREIGN
    end
    local _, exp, _, limit, window = unpack(t.wide, value)
    return readOld(value, size, t), 0, 0, exp, {limit, window, twin = t, head = head - 1, below = 0}, nil, true
  end
  if #value < HEAD then
    return nil, FOREIGN
  end
  local _, flags, exp, limit, window, size, first, count, base, oldest, newest, sum = unpack(LOG, value)
  local start, d = HEAD, nil
  if flags == 1 then
    start = HEAD + OWED
    d = #value >= start and debtAt(value, HEAD)
  end
  if flags > 1 then
    return nil, NEWER
  end
  local slots = (#value - start) / PAIR
  if count > size or first >= size then
    return nil, FOREIGN
  end
  if #value < WINDOW and (slots ~= floor(slots) or slots < min(first + count, size) or slots > size) then
    return nil, FOREIGN
  end
  if t ~= p.twin or limit ~= p[1] or window ~= p[2] then
    p = {limit, window, twin = t}
  end
  local src = {
    key = k, flags = flags, start = start, size = size,
    text = value, skip = start + 1, from = 0, to = floor(slots),
  }
  return t.new(src, first, first + count, first + count, nil, base, oldest, newest, sum), 0, 0, exp, p, d
end

-- stored is the text of those entries of a log that are where it was read.
local function stored(log)
  local src, first, count = log.src, log.first, log.stored - log.first
  if count <= 0 then
    return ''
  end
  first = first % src.size
  local ends = first + count
  local text
  if src.key then
    local start = src.start
    text = call('GETRANGE', keys[src.key], start + PAIR * first, start + PAIR * min(ends, src.size) - 1)
    if ends > src.size then
      text = text .. call('GETRANGE', keys[src.key], start, start + PAIR * (ends - src.size) - 1)
    end
    return text
  end
  return sub(src.text, PAIR * first + 1, PAIR * ends)
end

-- entries is the text of all entries of a log.
function entries(log)
  local added, texts, e = {}, {stored(log)}, log.top
  while e and e.position >= log.first do
    added[#added + 1] = e
    e = e.prev
  end
  for i = #added, 1, -1 do
    texts[#texts + 1] = pack('<I7I7', added[i].at, added[i].sum)
  end
  return concat(texts)
end

-- append writes those entries of a log that are not in its ring yet.
local function append(log)
  local src, added, e = log.src, {}, log.top
  while e and e.position >= log.first do
    added[#added + 1] = e
    e = e.prev
  end
  local i = #added
  while i > 0 do
    local slot, text = added[i].position % src.size, {}
    repeat
      text[#text + 1] = pack('<I7I7', added[i].at, added[i].sum)
      i = i - 1
    until i == 0 or slot + #text == src.size
    call('SETRANGE', keys[src.key], src.start + PAIR * slot, concat(text))
  end
end

-- writeLog writes what is new of a log, or all of it. px is for how long, if that
-- changes.
function L.writeLog(k, exp, px, log, p, d)
  local key, src, count, flags, owed = keys[k], log.src, log.last - log.first, 0, ''
  if d then
    flags, owed = 1, pack(DEBT, d.at, d.owed, d.gain, d.price, d.tick)
  end
  local fits = src and src.key == k and src.flags == flags and count <= src.size and (src.size <= 64 or count > src.size / 8)
  local size, first = src and src.size, 0
  if fits then
    first = log.first % size
    append(log)
  else
    size = max(8, min(floor(count * 1.5), max(count, p[1])))
    owed = owed .. entries(log)
  end
  local value = pack(LOG, p.head, flags, exp, p[1], p[2], size, first, count, log.base, log.oldest, log.newest, log.sum) .. owed
  if not fits and px then
    call('SET', key, value, 'PX', px)
    return
  elseif not fits then
    call('SET', key, value, 'KEEPTTL')
  else
    call('SETRANGE', key, '0', value)
  end
  if px then
    call('PEXPIRE', key, px)
  elseif call('PTTL', key) == -1 then
    mend(k, exp)
  end
end
