-- values are the strings of the buckets; strange is which of the others are there
-- all the same, once somebody has asked.
local values, strange
if #keys > 1 then
  values = call('MGET', spread(keys))
else
  values = {redis.pcall('GET', keys[1])}
  strange = {}
  if values[1] and values[1].err then
    values, strange = {false}, {true}
  end
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

