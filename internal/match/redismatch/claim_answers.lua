-- Claims settled matches of a partition whose answers wait for the ledger, and whose
-- former claim has ended. A repeated claim returns others.
-- KEYS  1 unsaved:{p} (zset: match to the end of its claim)
-- ARGV  1 now (ms), 2 end of the claim (ms), 3 how many matches at most
-- Returns the ids of the claimed matches.
local unsaved, now, claim_end, limit = KEYS[1], unpack(ARGV)
local claimed = redis.call('ZRANGEBYSCORE', unsaved, '-inf', now, 'LIMIT', 0, limit)
for _, id in ipairs(claimed) do
  redis.call('ZADD', unsaved, claim_end, id)
end
return claimed
