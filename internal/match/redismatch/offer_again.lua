-- Makes kept results of a partition wait for the ledger again.
-- KEYS  1 result:{p} (hash), 2… kept results (string)
-- ARGV  the match id of each kept result
-- Returns how many results wait that did not wait before.
local offered = 0
for i, id in ipairs(ARGV) do
  local result = redis.call('GET', KEYS[1 + i])
  if result then
    offered = offered + redis.call('HSETNX', KEYS[1], id, result)
  end
end
return offered
