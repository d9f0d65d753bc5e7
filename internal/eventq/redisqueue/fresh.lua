-- The items of a push whose ids are new. After terms.lua.
-- KEYS  6 once (string), or of a process pushed (hash)
-- ARGV  9 what a full queue does, 10 number of items, 11 how long ids are
--       remembered (ms), 12 how many at the most, 13 how long a verdict is kept
--       (ms), 14 '' for once, for pushed the id of the push, 15 number of
--       bundles, then they, then the number of counters of refused ones, then each
--       with its number; then the ids, where items are taken once
-- Returns nothing. Fresh are so many items of pushes, which are bundles, with
-- their ids.
local pushed, refused = tonumber(ARGV[10]), 16 + 2 * tonumber(ARGV[15])
local first = refused + 1 + 2 * tonumber(ARGV[refused])
local pushes = {unpack(ARGV, 16, refused - 1)}
local fresh, ids = pushed, {}

-- The pushes without the items that are not new.
local function sift(new)
  local sifted, i = {}, 0
  for at = 1, #pushes, 2 do
    local kept = {}
    for from, till in lines(pushes[at + 1]) do
      i = i + 1
      if new[i] then
        kept[#kept + 1] = string.sub(pushes[at + 1], from, till)
      end
    end
    if #kept > 0 then
      sifted[#sifted + 1] = #kept .. string.match(pushes[at], ' .*')
      sifted[#sifted + 1] = table.concat(kept)
    end
  end
  return sifted
end

if first <= #ARGV then
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now - tonumber(ARGV[11]))
  local known, new, met = redis.call('ZMSCORE', KEYS[5], unpack(ARGV, first)), {}, {}
  for i = 1, pushed do
    local id = ARGV[first + i - 1]
    if not known[i] and not met[id] then
      met[id], new[i], ids[#ids + 1] = true, true, id
    end
  end
  fresh = #ids
  if fresh < pushed then
    pushes = sift(new)
  end
end
