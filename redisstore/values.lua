-- values are the strings of the buckets, of which logs are read in part; strange is
-- which of the others are there all the same, once somebody has asked.
local values, strange
if lists then
  -- A key that a log may be at is read apart, so that a long one stays where it is.
  local i, logs, names, places = pos, {}, {}, {}
  while i < #R do
    local kind = K[R[i]]
    logs[R[i + 1]] = logs[R[i + 1]] or kind.policy.twin.list
    i = i + (kind.flags % RARE >= BACK and 3 or 2)
  end
  values = {}
  for k = 1, #keys do
    if logs[k] then
      local value = redis.pcall('GETRANGE', keys[k], '0', WINDOW - 1)
      if value.err and sub(value.err, 1, 9) ~= 'WRONGTYPE' then
        return value
      end
      values[k] = not value.err and value ~= '' and value
    else
      names[#names + 1], places[#places + 1] = keys[k], k
    end
  end
  if #names > 0 then
    names = call('MGET', spread(names))
    for i = 1, #places do
      values[places[i]] = names[i]
    end
  end
elseif #keys > 1 then
  values = call('MGET', spread(keys))
else
  local value = redis.pcall('GET', keys[1])
  local wrong = value and value.err
  if wrong and sub(wrong, 1, 9) ~= 'WRONGTYPE' then
    return value
  end
  values, strange = {not wrong and value}, {wrong and true}
end

-- find asks for all keys without a string at once.
local function find()
  local names, places, found = {}, {}, {}
  for k = 1, #keys do
    if not values[k] then
      names[#names + 1], places[#places + 1] = keys[k], k
    end
  end
  if call('EXISTS', spread(names)) > 0 then
    for i = 1, #names do
      found[places[i]] = call('EXISTS', names[i]) == 1
    end
  end
  return found
end

