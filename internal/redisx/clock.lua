-- Reads the time of the master that owns the key, and stores the newest cluster time of any node.
-- Only a later time replaces it, unless it is over 30 s old or from the master's future.
-- KEYS 1: text "CLUSTER_TIME REF_TIME": cluster time, and the master's time at that moment, in µs.
--      Servers that do not own the key answer MOVED.
-- ARGV 1: cluster time of the caller in µs, 0 if it has none yet. 2: time to live of the key in ms.
-- Returns {the master's time, CLUSTER_TIME, REF_TIME} in µs; the last two are those of the former
-- record, or 0.
local record_key = KEYS[1]
local own_time, ttl = tonumber(ARGV[1]), ARGV[2]
local time = redis.call('TIME')
local ref_time = time[1] * 1000000 + time[2]
local cluster_time, record_time = string.match(redis.call('GET', record_key) or '', '^(%d+) (%d+)$')
cluster_time, record_time = tonumber(cluster_time or 0), tonumber(record_time or 0)
local age = ref_time - record_time
if own_time > 0 and (own_time > cluster_time or age > 30000000 or age < 0) then
  redis.call('SET', record_key, string.format('%.0f %.0f', own_time, ref_time), 'PX', ttl)
end
return {ref_time, cluster_time, record_time}
