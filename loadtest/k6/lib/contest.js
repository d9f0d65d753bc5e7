// One player's way through one match, checked against the contract.

import { setTimeout, clearTimeout } from 'k6/timers';
import { pushTimeout, resumes, think, twice } from './env.js';
import { fetch } from './http.js';
import { alike, answers, learn, points, right } from './rules.js';
import { answered, holds, matches } from './checks.js';

// isLockedOut says whether a teammate has just answered wrong in a buzzer match.
const isLockedOut = (reply) => reply && reply.type === 'error' && reply.data.code === 'question_not_open' && reply.data.retry_after_ms > 0;

export class Contest {
  // phase tags the time of answers. hall compares what all players of an arena receive.
  // A player who watches answers nothing.
  // who only looks on answers nothing.
  constructor(player, { hall, phase, watches } = {}) {
    this.player = player;
    this.hall = hall;
    this.tags = phase ? { phase: phase() } : undefined;
    this.watches = watches;
    this.seq = 0;
    this.score = 0;
    this.right = 0;
    this.cut = Math.random() < resumes; // drop the connection once
    this.counts = true; // counts for boards
    this.over = null;
    this.done = false;
    this.end = new Promise((resolve) => {
      this.resolve = resolve;
    });
    player.onpush = (frame, raw) => this.take(frame, raw);
    player.onlost = (_, after) => this.reconnect(after);
    this.wait();
  }

  // wait bounds the time until the next push.
  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      holds('goes', this.seq === 0, () => `${this.match}: nothing for ${pushTimeout} ms after push ${this.seq}`);
      this.finish(false);
    }, pushTimeout);
  }

  finish(whole) {
    this.done = true;
    clearTimeout(this.timer);
    this.player.free();
    this.resolve(whole);
  }

  take(frame, raw) {
    if (frame.seq !== undefined) this.number(frame, raw);
    switch (frame.type) {
      case 'match.found':
        this.found(frame);
        break;
      case 'match.state':
        this.state = frame.data;
        break;
      case 'question':
        this.ask(frame.data);
        break;
      case 'answer.seen':
        this.saw(frame.data);
        break;
      case 'question.closed':
        this.close(frame.data);
        break;
      case 'own':
        if (frame.data.match === this.match) this.mine(frame.data);
        break;
      case 'match.over':
        this.ended(frame.data);
        break;
      case 'settled':
        if (frame.data.match === this.match) this.settled(frame.data);
        break;
      default: // question.extended, arena.lobby, draining
    }
  }

  number(frame, raw) {
    if (this.match === undefined) this.match = frame.match;
    const skipped = this.state && frame.seq === this.state.seq + 1; // the server no longer keeps the frames in between
    holds('seq', frame.match === this.match && (frame.seq === this.seq + 1 || skipped), () => `${frame.match} ${frame.seq} came after ${this.match} ${this.seq}`);
    if (skipped && frame.seq !== this.seq + 1) {
      this.score = this.state.own.score;
      this.right = undefined;
    }
    this.state = undefined;
    this.seq = frame.seq;
    if (this.hall) this.hall.compare(frame, raw);
    this.wait();
  }

  found(frame) {
    this.mode = frame.data.mode;
    this.counts = this.hall ? this.hall.ranked : !(frame.data.seats || []).some((seat) => seat.bot);
    this.large = frame.data.players > 50; // a player who misses a push of its own learns the result only from the board
    this.cut = this.cut && !this.large;
    if (this.hall) this.hall.found(frame.data);
  }

  ask(question) {
    this.question = question;
    this.sent = null;
    this.reply = null;
    this.seen = new Set();
    if (this.watches) return;
    setTimeout(() => this.answer(question), Math.random() * think);
  }

  async answer(question) {
    if (this.over || this.question !== question || !this.player.ws) return;
    const [one, other] = answers(question);
    const say = (given) => this.player.request('answer', { match: this.match, question: question.question, ...given });
    this.sent = one;
    const at = Date.now();
    const reply = await say(one);
    if (isLockedOut(reply)) setTimeout(() => this.answer(question), reply.data.retry_after_ms);
    if (!reply || reply.type !== 'answered') return;
    answered.add(Date.now() - at, this.tags);
    if (this.question === question) this.reply = reply.data;
    if (this.hall) this.hall.recordReply(question.question, this.player.id, reply.data);
    if (Math.random() < twice) await this.insist(say, one, other, reply.data);
    if (this.cut && this.question === question) this.drop();
  }

  // insist sends another answer, and then the first one again.
  async insist(say, one, other, first) {
    const [changed, again] = await Promise.all([say(other), say(one)]);
    if (changed) holds('twice', changed.type !== 'answered', () => `${this.match}: ${JSON.stringify(other)} after ${JSON.stringify(one)}: ${JSON.stringify(changed)}`);
    if (again && again.type === 'answered') {
      holds('twice', JSON.stringify(again.data) === JSON.stringify(first), () => `${this.match}: ${JSON.stringify(first)}, then ${JSON.stringify(again.data)}`);
    }
  }

  saw({ question, player }) {
    if (!this.question || this.question.question !== question) return;
    holds('seen', !this.seen.has(player), () => `${this.match} question ${question}: the answer of ${player} comes twice`);
    this.seen.add(player);
  }

  // drop closes the connection, and reconnects to receive what was missed.
  drop() {
    this.cut = false;
    this.player.close();
    this.reconnect(50 + Math.random() * 300);
  }

  reconnect(after) {
    this.away = true;
    setTimeout(async () => {
      if (this.done) return;
      await this.player.connect(this.match && { match: this.match, seq: this.seq });
      if (this.over) this.checkLedger(20);
    }, after);
  }

  close(closed) {
    const question = this.question;
    if (!question || question.question !== closed.question) return;
    learn(question, closed.answer);
    this.closed = closed;
    if (this.hall) this.hall.closed(closed);
    const own = closed.results.find((result) => result.player === this.player.id);
    if (own) this.mine(own);
    if (this.early && this.early.question === closed.question) this.mine(this.early);
  }

  // mine checks what a question gave this player. In large matches the result arrives in a
  // message of its own. It may also arrive with the best ten, or before the close.
  mine(own) {
    const { question, closed } = this;
    if (!question || !closed || closed.question !== question.question) {
      this.early = own;
      return;
    }
    if (own.question !== undefined && own.question !== question.question) return;
    if (this.counted === question) {
      holds('score', own.score === this.score, () => `${this.match} question ${question.question}: ${JSON.stringify(own)}, and the points so far are ${this.score}`);
      return;
    }
    this.counted = question;
    const said = () => `${this.match} question ${question.question}: sent ${JSON.stringify(this.sent)}, received ${JSON.stringify(this.reply)}, closed as ${JSON.stringify(own)}`;
    const same = this.reply ? alike(own.given, this.sent) && own.elapsed_ms === this.reply.elapsed_ms : own.given === null || alike(own.given, this.sent);
    holds('given', same, said);
    const first = closed.first && closed.first.player === this.player.id;
    const limit = question.closes_at - question.opens_at;
    const correct = right(question.kind, own.given, closed.answer);
    holds('points', own.points === points(this.mode, own, limit, first) && (correct === undefined || this.mode === 'buzzer' || correct === own.correct), said);
    this.score += own.points;
    holds('score', own.score === this.score, () => `${said()}, and the points so far are ${this.score}`);
    if (this.right !== undefined && own.correct) this.right++;
  }

  ended(over) {
    this.over = over;
    matches.add(1, this.tags);
    if (this.large && this.away) return this.finish(false);
    holds('goes', over.reason !== 'abandoned', () => `${this.match} was abandoned`);
    const own = over.standings.find((standing) => standing.player === this.player.id);
    if (own) holds('score', own.score === this.score, () => `${this.match} ended with ${JSON.stringify(own)}, and the points are ${this.score}`);
    if (!this.counts || this.watches) this.finish(true);
    else if (this.away) this.checkLedger(20); // `settled` may have been sent while the player was away
  }

  // settled checks the final rating of a rated match.
  settled({ rating }) {
    const own = this.over && this.over.standings.find((standing) => standing.player === this.player.id);
    if (own) holds('ledger', (rating === undefined) === (own.rating === undefined), () => `${this.match}: rating ${rating} is settled after ${JSON.stringify(own)}`);
    this.rating = rating;
    this.checkLedger(1);
  }

  // checkLedger checks the stored result: the match in the ledger, and the board. If
  // `settled` has not arrived, it reads the board again for some seconds.
  async checkLedger(looks) {
    if (this.checked) return;
    this.checked = true;
    const { player } = this;
    player.settled.score += this.score;
    player.settled.matches++;
    for (let look = 1; look <= looks; look++) {
      if (look > 1) await new Promise((resolve) => setTimeout(resolve, 250));
      const board = await fetch(`/leaderboards/all/${player.id}?order=score`, 'GET leaderboards/all/{player}');
      const same = board && board.score === player.settled.score && board.matches === player.settled.matches;
      if (!same && (look < looks || !board)) continue;
      holds('board', same, () => `${player.id}: ${JSON.stringify(board)}, settled ${JSON.stringify(player.settled)}`);
      break;
    }
    if (!this.hall) await this.checkMatch();
    this.finish(true);
  }

  async checkMatch() {
    const kept = await fetch(`/matches/${this.match}`, 'GET matches/{match}');
    if (!kept) return;
    const summarize = (standings) => JSON.stringify(standings.map((s) => [s.rank, s.player, s.score, s.correct, s.time_ms]));
    holds('ledger', summarize(kept.standings) === summarize(this.over.standings), () => `${this.match}: ${summarize(this.over.standings)} was pushed, ${summarize(kept.standings)} is stored`);
    const own = kept.standings.find((standing) => standing.player === this.player.id);
    if (this.rating !== undefined) holds('ledger', own && own.rating === this.rating, () => `${this.match}: rating ${this.rating} was pushed, ${JSON.stringify(own)} is stored`);
  }
}
