-- Stores the newest cluster time of any node. Only a later time replaces it, unless it is over 30 s old
-- or from the master's future.
-- KEYS 1: text "CLUSTER_TIME REF_TIME": cluster time, and the master's time at that moment, in µs.
-- ARGV 1: cluster time of the caller in µs, 0 if it has none yet. 2: the master's time at that moment, in µs.
--      3: time to live of the key in ms.
-- Returns {CLUSTER_TIME, REF_TIME} of the former record, or two empty texts.
local record_key = KEYS[1]
local own_time, own_ref_time, ttl = unpack(ARGV, 1, 3)
local cluster_time, ref_time = string.match(redis.call('GET', record_key) or '', '^(%d+) (%d+)$')
local age = ref_time and tonumber(own_ref_time) - ref_time or 0
if own_time ~= '0' and (not cluster_time or tonumber(own_time) > tonumber(cluster_time) or age > 30000000 or age < 0) then
  redis.call('SET', record_key, own_time .. ' ' .. own_ref_time, 'PX', ttl)
end
return {cluster_time or '', ref_time or ''}
