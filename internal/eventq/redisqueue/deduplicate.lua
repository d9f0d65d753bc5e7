-- Selects the items of a push whose ids are new. Runs after policy.lua.
-- KEYS  6 reply (string), or the last pushes of a process (hash)
-- ARGV  9 overflow policy, 10 number of items, 11 how long ids are remembered (ms),
--       12 how many ids are remembered at most, 13 time to live of a verdict (ms),
--       14 the id of the push if KEYS[6] is a hash, else '', 15 number of bundles,
--       then the bundles, then the number of counters of refused items, then each
--       counter with its number, then the ids if the items are unique
-- Returns nothing. Afterwards bundles has new_count items, and new_ids their ids.
local pushed, refused_at = tonumber(ARGV[10]), 16 + 2 * tonumber(ARGV[15])
local ids_at = refused_at + 1 + 2 * tonumber(ARGV[refused_at])
local bundles = {unpack(ARGV, 16, refused_at - 1)}
local new_count, new_ids = pushed, {}

-- Returns the bundles without the items that are not new.
local function sift(is_new)
  local sifted, item = {}, 0
  for i = 1, #bundles, 2 do
    local kept = {}
    for from, to in lines(bundles[i + 1]) do
      item = item + 1
      if is_new[item] then
        kept[#kept + 1] = string.sub(bundles[i + 1], from, to)
      end
    end
    if #kept > 0 then
      sifted[#sifted + 1] = #kept .. string.match(bundles[i], ' .*')
      sifted[#sifted + 1] = table.concat(kept)
    end
  end
  return sifted
end

if ids_at <= #ARGV then
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now - tonumber(ARGV[11]))
  local known, is_new, in_push = redis.call('ZMSCORE', KEYS[5], unpack(ARGV, ids_at)), {}, {}
  for i = 1, pushed do
    local id = ARGV[ids_at + i - 1]
    if not known[i] and not in_push[id] then
      in_push[id], is_new[i], new_ids[#new_ids + 1] = true, true, id
    end
  end
  new_count = #new_ids
  if new_count < pushed then
    bundles = sift(is_new)
  end
end
