-- Adds or renews a ticket, and lists a slice of the tickets with the ratings nearest to it.
-- A renewal extends the ticket's life even if it is in a pairing. If the ticket has
-- expired and its player has no other activity, a renewal adds it again. Other expired
-- tickets in the slice are removed. Then the search repeats, so that they take no place
-- of live tickets. It runs at most eight times.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 alive (zset), 4 busy (string),
--       5 pairings (hash)
-- ARGV  1 ticket id, 2 ticket (JSON), 3 rating, 4 now (ms), 5 alive until (ms), 6 number
--       of tickets per side, 7 number to skip per side, 8 time to live of busy (ms),
--       9 1 for a new ticket, else 0, 10 value of busy that a new ticket replaces, '' for none
-- Returns {value of busy; 1 if its match does not exist yet, else 0; number of waiting
-- tickets; id, rating and JSON of each listed ticket except the given one}. The given
-- ticket waits if it is in busy.
-- A new ticket also replaces an expired one.
local tickets, waiting, alive_key, busy_key, pairings = unpack(KEYS, 1, 5)
local ticket_id, ticket, rating, now, alive_until, limit, offset, busy_ttl, is_new, replaced_busy = unpack(ARGV, 1, 10)
local function is_expired(alive)
  return not (alive and tonumber(alive) >= tonumber(now))
end
local function remove(id)
  redis.call('HDEL', tickets, id)
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', alive_key, id)
end
local new_busy, busy = 'ticket:' .. ticket_id, redis.call('GET', busy_key) or ''
if busy ~= new_busy then
  local other_ticket, match = string.match(busy, '^ticket:(.*)'), string.match(busy, '^match:(.*)')
  local is_free = busy == '' or busy == replaced_busy
  if not is_free and is_new == '1' and other_ticket and is_expired(redis.call('ZSCORE', alive_key, other_ticket)) then
    remove(other_ticket)
    is_free = true
  end
  if is_new == '0' or not is_free then
    redis.call('ZADD', alive_key, 'XX', alive_until, ticket_id)
    return {busy, match and redis.call('HEXISTS', pairings, match) or 0, 0, {}}
  end
end
redis.call('SET', busy_key, new_busy, 'PX', busy_ttl)
redis.call('ZADD', alive_key, alive_until, ticket_id)
if redis.call('ZADD', waiting, rating, ticket_id) == 1 then
  redis.call('HSET', tickets, ticket_id, ticket)
end
local near, has_expired = {}, true
for _ = 1, 8 do
  if not has_expired then break end
  near, has_expired = {}, false
  local ids, ratings = {}, {}
  local function add_all(listed)
    for i = 1, #listed, 2 do
      if listed[i] ~= ticket_id then
        ids[#ids + 1], ratings[#ratings + 1] = listed[i], listed[i + 1]
      end
    end
  end
  add_all(redis.call('ZRANGEBYSCORE', waiting, rating, '+inf', 'WITHSCORES', 'LIMIT', offset, limit))
  add_all(redis.call('ZREVRANGEBYSCORE', waiting, '(' .. rating, '-inf', 'WITHSCORES', 'LIMIT', offset, limit))
  local alive = #ids > 0 and redis.call('ZMSCORE', alive_key, unpack(ids)) or {}
  local texts = #ids > 0 and redis.call('HMGET', tickets, unpack(ids)) or {}
  for i, id in ipairs(ids) do
    if is_expired(alive[i]) then
      remove(id)
      has_expired = true
    else
      near[#near + 1] = id
      near[#near + 1] = ratings[i]
      near[#near + 1] = texts[i]
    end
  end
end
return {new_busy, 0, redis.call('ZCARD', waiting), near}
