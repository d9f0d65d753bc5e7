-- Applies one transaction to a board set: changes of boards, and then the new state.
-- KEYS  1 state (hash), 2 boards (set of names). Then for each change: meta (hash), entries (hash), and the board's
--       rankings (sorted sets). Then the keys of deleted boards.
-- ARGV  1 expected version, 2 version after the transaction, 3 number of rankings per board, 4 number of changes.
--       Then for each change: name of the board, as_of (epoch ms, 0: unchanged), count n of entries (at most 400),
--       and for each entry: id, packed entry (empty: removed), and its key in each ranking (empty: not ranked).
--       Then the count of deleted boards, their names, and at last the fields and values of the state.
-- Returns 1 if this run or an earlier run has applied the transaction.
-- Returns 0 and writes nothing if the board set has another version.
-- If a write fails, the version stays "torn", to which no later transaction applies.
local state, boards = KEYS[1], KEYS[2]
local expected_version, new_version = ARGV[1], ARGV[2]
local rankings, changes = tonumber(ARGV[3]), tonumber(ARGV[4])
local version = redis.call('HGET', state, 'version')
if version == new_version then
  return 1
end
if version ~= expected_version then
  return 0
end
redis.call('HSET', state, 'version', 'torn')

local key, arg = 3, 5 -- the next ones

local function write(command, target, args)
  if #args > 0 then
    redis.call(command, target, unpack(args))
  end
end

-- member returns the member of an entry in rankings.
local function member(packed, id)
  return string.sub(packed, 1, 16) .. ':' .. id
end

-- apply_entries replaces or removes entries, and their members in all rankings.
local function apply_entries(entries_key, count)
  local ids, put, removed, old_members, added = {}, {}, {}, {}, {}
  for ranking = 1, rankings do
    added[ranking] = {}
  end
  for i = 1, count do
    local id, packed = ARGV[arg], ARGV[arg + 1]
    ids[i] = id
    if packed == '' then
      removed[#removed + 1] = id
    else
      put[#put + 1], put[#put + 2] = id, packed
    end
    for ranking, members in ipairs(added) do
      local ranking_key = ARGV[arg + 1 + ranking]
      if ranking_key ~= '' then
        members[#members + 1], members[#members + 2] = ranking_key, member(packed, id)
      end
    end
    arg = arg + 2 + rankings
  end
  for i, packed in ipairs(redis.call('HMGET', entries_key, unpack(ids))) do
    if packed then
      old_members[#old_members + 1] = member(packed, ids[i])
    end
  end
  write('HSET', entries_key, put)
  write('HDEL', entries_key, removed)
  for ranking, members in ipairs(added) do
    write('ZREM', KEYS[key + 1 + ranking], old_members)
    write('ZADD', KEYS[key + 1 + ranking], members)
  end
end

for _ = 1, changes do
  local name, as_of, count = ARGV[arg], ARGV[arg + 1], tonumber(ARGV[arg + 2])
  arg = arg + 3
  redis.call('SADD', boards, name)
  if as_of ~= '0' then
    redis.call('HSET', KEYS[key], 'as_of', as_of)
  end
  apply_entries(KEYS[key + 1], count)
  key = key + 2 + rankings
end
for i = key, #KEYS do
  redis.call('UNLINK', KEYS[i])
end
local deleted = tonumber(ARGV[arg])
write('SREM', boards, { unpack(ARGV, arg + 1, arg + deleted) })
redis.call('HSET', state, unpack(ARGV, arg + 1 + deleted))
redis.call('HSET', state, 'version', new_version)
return 1
