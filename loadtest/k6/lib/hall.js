// What the players of one arena have in common: all of them are of one VU, so
// that what they receive can be compared.

import { holds } from './checks.js';

export class Hall {
  constructor(ranked) {
    this.ranked = ranked; // counts for boards
    this.pushes = []; // by seq, as first seen
    this.firsts = new Map(); // the player named first, by question
    this.onfound = () => {}; // once
    this.onclosed = () => {}; // once for each question
    this.last = -1; // question that was seen closed
  }

  // compare holds a numbered push against what the others were sent.
  compare(frame, raw) {
    if (this.pushes[frame.seq] === undefined) this.pushes[frame.seq] = raw;
    else holds('same', this.pushes[frame.seq] === raw, () => `${raw}, to another ${this.pushes[frame.seq]}`);
  }

  found(found) {
    this.onfound(found);
    this.onfound = () => {};
  }

  // recordReply records a reply in a buzzer match, which says whether its player was first.
  recordReply(question, player, reply) {
    if (!reply.first) return;
    const other = this.firsts.get(question);
    holds('first', other === undefined || other === player, () => `question ${question}: first are ${other} and ${player}`);
    this.firsts.set(question, player);
  }

  closed(closed) {
    if (closed.question > this.last) {
      this.last = closed.question;
      this.onclosed(closed.question);
    }
    const claimed = this.firsts.get(closed.question);
    const first = closed.first && closed.first.player;
    if (claimed !== undefined) holds('first', claimed === first, () => `question ${closed.question}: ${claimed} claims to be first, the push names ${first}`);
  }
}
