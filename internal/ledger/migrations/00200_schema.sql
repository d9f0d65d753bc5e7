-- The tables of release 0.1.0. One text serves SQLite and PostgreSQL: ids and JSON are
-- TEXT, instants are BIGINT in epoch ms, and {bytes} makes PostgreSQL compare a column
-- by bytes, as SQLite does.

-- The identity of the ledger. erasure_key is the key of the hashes by which the ledger
-- remembers erased subjects. bank_revision grows with every change of a question bank.
CREATE TABLE ledger_info (
    id            BIGINT PRIMARY KEY CHECK (id = 1),
    epoch         TEXT   NOT NULL,
    erasure_key   TEXT   NOT NULL,
    bank_revision BIGINT NOT NULL DEFAULT 0
);

-- The totals are the sums of the player's rows in entries. rating is JSON, '' before the
-- first rated match. rated_matches is how many matches have changed it. Players of an
-- operator's login service have no device. skeleton is the nickname in the form in which
-- lookalikes are equal.
CREATE TABLE players (
    game          TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    device_hash   TEXT,
    nickname      TEXT   NOT NULL,
    skeleton      TEXT   NOT NULL,
    named_at      BIGINT NOT NULL,
    joined_at     BIGINT NOT NULL,
    rating        TEXT   NOT NULL DEFAULT '',
    rated_matches BIGINT NOT NULL DEFAULT 0,
    score         BIGINT NOT NULL DEFAULT 0,
    time_ms       BIGINT NOT NULL DEFAULT 0,
    limit_ms      BIGINT NOT NULL DEFAULT 0,
    matches       BIGINT NOT NULL DEFAULT 0,
    asked         BIGINT NOT NULL DEFAULT 0,
    answered      BIGINT NOT NULL DEFAULT 0,
    correct       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (game, id)
);
CREATE UNIQUE INDEX players_device ON players (game, device_hash);
CREATE UNIQUE INDEX players_skeleton ON players (game, skeleton);
-- Nodes read the nicknames of all games in the order of their claims.
CREATE INDEX players_named_at ON players (named_at, game, skeleton);

-- The player of a subject of tokens: the subject itself, for a player of an operator's
-- login service; the guest to which the account is linked; or '' if the player was
-- erased. A guest without an account has no row. Rows are never deleted after an erasure.
-- Then subject is a hash, and opaque_id is the player's id in results, '' for guests.
CREATE TABLE accounts (
    game       TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    player     TEXT   NOT NULL,
    changed_at BIGINT NOT NULL,
    opaque_id  TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (game, subject)
);
CREATE UNIQUE INDEX accounts_player ON accounts (game, player) WHERE player <> '';

-- The erasures of the last minutes. opaque_id has replaced subject in results; '' if
-- results keep the id. last_move_pos is the position of the last entry that renames the
-- subject on leaderboards, 0 if there is none.
CREATE TABLE erasures (
    game          TEXT   NOT NULL,
    subject       TEXT   NOT NULL,
    opaque_id     TEXT   NOT NULL,
    last_move_pos BIGINT NOT NULL,
    erased_at     BIGINT NOT NULL,
    PRIMARY KEY (game, subject)
);
CREATE INDEX erasures_erased_at ON erasures (erased_at);

-- The last change of revocations and the last one of token keys. A transaction that
-- changes either holds the lock on this row.
CREATE TABLE access_revision (
    id            BIGINT PRIMARY KEY CHECK (id = 1),
    revision      BIGINT NOT NULL,
    keys_revision BIGINT NOT NULL
);
INSERT INTO access_revision (id, revision, keys_revision) VALUES (1, 0, 0);

-- Bans and revocations. revision is that of the last change. ends_at is 0 for one without
-- an end. One that has ended is deleted some time later.
CREATE TABLE revocations (
    game          TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    issued_before BIGINT NOT NULL,
    ends_at       BIGINT NOT NULL,
    reason        TEXT   NOT NULL,
    set_by        TEXT   NOT NULL,
    changed_at    BIGINT NOT NULL,
    revision      BIGINT NOT NULL,
    PRIMARY KEY (game, kind, id)
);
CREATE UNIQUE INDEX revocations_revision ON revocations (revision);
CREATE INDEX revocations_game ON revocations (game, revision);
CREATE INDEX revocations_ended ON revocations (ends_at) WHERE ends_at > 0;

-- Keys of tokens. Number 1 of a game is the key that its first start has generated.
CREATE TABLE token_keys (
    game       TEXT   NOT NULL,
    number     BIGINT NOT NULL,
    id         TEXT   NOT NULL,
    alg        TEXT   NOT NULL,
    secret     BYTEA  NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (game, number)
);

-- The settled matches, each once. summary is JSON.
CREATE TABLE matches (
    game    TEXT NOT NULL,
    id      TEXT NOT NULL,
    summary TEXT NOT NULL,
    PRIMARY KEY (game, id)
);

-- The standings of human players in settled matches. standing_index counts from 0 and
-- includes bots. rating is the one shown after a rated match, and rating_delta is its
-- change; both are 0 after other matches.
CREATE TABLE seats (
    game           TEXT   NOT NULL,
    player         TEXT   NOT NULL,
    over_at        BIGINT NOT NULL,
    match_id       TEXT   NOT NULL,
    mode           TEXT   NOT NULL,
    standing_index BIGINT NOT NULL,
    rank           BIGINT NOT NULL,
    team           TEXT   NOT NULL,
    score          BIGINT NOT NULL,
    correct        BIGINT NOT NULL,
    answered       BIGINT NOT NULL,
    asked          BIGINT NOT NULL,
    time_ms        BIGINT NOT NULL,
    rating         BIGINT NOT NULL,
    rating_delta   BIGINT NOT NULL,
    player_count   BIGINT NOT NULL,
    PRIMARY KEY (game, player, over_at, match_id)
);
CREATE INDEX seats_match ON seats (game, match_id, standing_index);

-- The last position of each game and the day to which it belongs. A transaction that adds
-- entries holds the lock on this row.
CREATE TABLE ledger_heads (
    game      TEXT   PRIMARY KEY,
    pos       BIGINT NOT NULL,
    day       TEXT   NOT NULL,
    first_day TEXT   NOT NULL
);

-- The ledger itself, append-only: positions count from 1 in commit order. The holder is
-- the player or team that an entry is about; both columns are '' at the start of a day. A
-- correction has the day and the position of the corrected entry, and the newest positions
-- of the holder that still count: of all days, and of that day.
CREATE TABLE entries (
    game                 TEXT   NOT NULL,
    pos                  BIGINT NOT NULL,
    id                   TEXT   NOT NULL,
    kind                 TEXT   NOT NULL,
    day                  TEXT   NOT NULL,
    committed_at         BIGINT NOT NULL,
    match_id             TEXT   NOT NULL,
    holder_kind          TEXT{bytes} NOT NULL,
    holder               TEXT{bytes} NOT NULL,
    target_day           TEXT   NOT NULL,
    corrected_pos        BIGINT NOT NULL,
    newest               BIGINT NOT NULL,
    newest_of_target_day BIGINT NOT NULL,
    score                BIGINT NOT NULL,
    time_ms              BIGINT NOT NULL,
    limit_ms             BIGINT NOT NULL,
    matches              BIGINT NOT NULL,
    asked                BIGINT NOT NULL,
    answered             BIGINT NOT NULL,
    correct              BIGINT NOT NULL,
    PRIMARY KEY (game, pos)
);
CREATE INDEX entries_holder ON entries (game, holder_kind, holder, pos);
CREATE UNIQUE INDEX entries_corrected ON entries (game, corrected_pos) WHERE corrected_pos > 0;

-- The reason of a correction, and who made it.
CREATE TABLE corrections (
    game         TEXT   NOT NULL,
    pos          BIGINT NOT NULL,
    reason       TEXT   NOT NULL,
    corrected_by TEXT   NOT NULL,
    PRIMARY KEY (game, pos)
);

-- The days of a game. start_pos is the position of the entry that starts the day. summed
-- is 1 once day_sums has the whole day; until then it has the entries up to summed_to. Days
-- are summed in order. Every correction changes version.
CREATE TABLE days (
    game      TEXT   NOT NULL,
    day       TEXT   NOT NULL,
    start_pos BIGINT NOT NULL,
    summed    BIGINT NOT NULL DEFAULT 0,
    summed_to BIGINT NOT NULL DEFAULT 0,
    version   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (game, day)
);
CREATE INDEX days_unsummed ON days (game, day) WHERE summed = 0;

-- The day up to which an operator has confirmed a jump of the database's clock.
CREATE TABLE confirmed_days (
    game         TEXT   NOT NULL PRIMARY KEY,
    day          TEXT   NOT NULL,
    confirmed_at BIGINT NOT NULL
);

-- The sums of each holder's results of a past day, less corrections. newest is the
-- position of the newest of them, and committed_at is its time.
CREATE TABLE day_sums (
    game         TEXT   NOT NULL,
    holder_kind  TEXT{bytes} NOT NULL,
    holder       TEXT{bytes} NOT NULL,
    day          TEXT   NOT NULL,
    newest       BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    score        BIGINT NOT NULL,
    time_ms      BIGINT NOT NULL,
    limit_ms     BIGINT NOT NULL,
    matches      BIGINT NOT NULL,
    asked        BIGINT NOT NULL,
    answered     BIGINT NOT NULL,
    correct      BIGINT NOT NULL,
    PRIMARY KEY (game, holder_kind, holder, day)
);
CREATE INDEX day_sums_day ON day_sums (game, day, holder_kind, holder);

-- How many duels of two players have counted on a day. player1 is the smaller id.
CREATE TABLE duel_pairs (
    game    TEXT   NOT NULL,
    day     TEXT   NOT NULL,
    player1 TEXT   NOT NULL,
    player2 TEXT   NOT NULL,
    duels   BIGINT NOT NULL,
    PRIMARY KEY (game, day, player1, player2)
);

-- The teams of ranked arenas, with the name in the newest result.
CREATE TABLE teams (
    game TEXT NOT NULL,
    id   TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (game, id)
);

CREATE TABLE banks (
    name TEXT PRIMARY KEY
);

-- question is JSON.
CREATE TABLE questions (
    bank     TEXT NOT NULL REFERENCES banks (name) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    question TEXT NOT NULL,
    PRIMARY KEY (bank, id)
);

-- The queues of tasks, one for each topic and priority. pos is the last assigned position,
-- in commit order. Tasks up to scan have been delivered. head is the task for which an
-- ordered queue waits, '' for none; its position is scan. kind is the topic up to its first
-- '/'. The ready queue of a kind with the smallest virtual time is next. moved_at is when a
-- task last got a position, or the head left.
CREATE TABLE queues (
    topic        TEXT   NOT NULL,
    priority     BIGINT NOT NULL,
    kind         TEXT   NOT NULL,
    ordering     TEXT   NOT NULL,
    pos          BIGINT NOT NULL,
    scan         BIGINT NOT NULL,
    head         TEXT   NOT NULL,
    virtual_time BIGINT NOT NULL,
    moved_at     BIGINT NOT NULL DEFAULT 0,
    ready        BIGINT NOT NULL GENERATED ALWAYS AS (CASE WHEN head = '' AND scan < pos THEN 1 ELSE 0 END) STORED,
    PRIMARY KEY (topic, priority)
);
CREATE INDEX queues_ready ON queues (kind, ready, virtual_time);
CREATE INDEX queues_held ON queues (topic, priority) WHERE head <> '';

-- In a topic and game each key exists once, until the task is deleted. pos is set while
-- the task has a position in its queue. due_at is set while a lease or a wait must end.
-- ended_at is set once the task is done or discarded. payload and errors are JSON.
CREATE TABLE tasks (
    id         TEXT   PRIMARY KEY,
    game       TEXT   NOT NULL,
    topic      TEXT   NOT NULL,
    key        TEXT   NOT NULL,
    priority   BIGINT NOT NULL,
    ordering   TEXT   NOT NULL,
    payload    TEXT   NOT NULL,
    state      TEXT   NOT NULL,
    pos        BIGINT,
    fence      BIGINT NOT NULL,
    due_at     BIGINT,
    tries      BIGINT NOT NULL,
    max_tries  BIGINT NOT NULL,
    errors     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    ended_at   BIGINT
);
-- Each statement of the queue has one index that fits, and none that seems to fit. An
-- index that starts with topic would be used for a search of positions too, and would
-- read the whole topic.
CREATE UNIQUE INDEX tasks_key ON tasks (game, topic, key);
CREATE UNIQUE INDEX tasks_place ON tasks (topic, priority, pos) WHERE pos IS NOT NULL;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
-- Most tasks have ended. They are not in the index of states.
CREATE INDEX tasks_state ON tasks (state, id) WHERE ended_at IS NULL;
CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL;
-- Tasks without a position that have not ended. Two terms, because SQLite finds each of
-- them in a query.
CREATE INDEX tasks_later_or_dead ON tasks (topic, state) WHERE state = 'later' OR state = 'dead';

-- The disabled endpoints of webhooks.
CREATE TABLE disabled_endpoints (
    game   TEXT   NOT NULL,
    name   TEXT   NOT NULL,
    reason TEXT   NOT NULL,
    since  BIGINT NOT NULL,
    PRIMARY KEY (game, name)
);

-- The requests of operators that change something. status and ended_at are 0 until the
-- request has ended.
CREATE TABLE audit_log (
    id       TEXT    NOT NULL PRIMARY KEY,
    at       BIGINT  NOT NULL,
    actor    TEXT    NOT NULL,
    action   TEXT    NOT NULL,
    game     TEXT    NOT NULL,
    target   TEXT    NOT NULL,
    status   INTEGER NOT NULL DEFAULT 0,
    ended_at BIGINT  NOT NULL DEFAULT 0
);
CREATE INDEX audit_log_at ON audit_log (at, id);
CREATE INDEX audit_log_game ON audit_log (game, at, id);
CREATE INDEX audit_log_actor ON audit_log (actor, at, id);
