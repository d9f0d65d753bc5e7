-- Reads a match as it stands at one instant.
-- KEYS  1 match (hash), 2 log (list), 3 answers (hash), 4 totals (hash)
-- ARGV  1 1 if the plan is wanted, else 0, 2 number after which frames are
--       wanted, -1 for none, 3… players
-- Returns {fields of the state, plan, frames, records of the current question,
-- totals: score, correct, answered, saved of each player}; nil if it is gone.
local state = redis.call('HMGET', KEYS[1], 'phase', 'question', 'opens_at', 'closes_at', 'due_at',
  'started_at', 'reason', 'ending', 'leaver', 'answered', 'right', 'seq')
if not state[1] then
  return false
end
local plan = ARGV[1] == '1' and redis.call('HGET', KEYS[1], 'plan') or ''
local frames = ARGV[2] == '-1' and {} or redis.call('LRANGE', KEYS[2], ARGV[2], -1)
local answers, sums = {}, {}
for i = 3, #ARGV do
  answers[#answers + 1] = state[2] .. '|' .. ARGV[i]
  for _, part in ipairs({'score|', 'correct|', 'answered|', 'saved|'}) do
    sums[#sums + 1] = part .. ARGV[i]
  end
end
if #ARGV < 3 then
  return {state, plan, frames, {}, {}}
end
return {state, plan, frames, redis.call('HMGET', KEYS[3], unpack(answers)), redis.call('HMGET', KEYS[4], unpack(sums))}
