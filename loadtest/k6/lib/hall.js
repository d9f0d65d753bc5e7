// What the players of one arena have in common: all of them are of one VU, so
// that what they are told can be compared.

import { holds } from './checks.js';

export class Hall {
  constructor(ranked) {
    this.ranked = ranked; // counts for boards
    this.pushes = []; // by seq, as first seen
    this.firsts = new Map(); // who was told to be first, by question
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

  // told notes a reply in a buzzer match: it says whether its player was first.
  told(question, player, reply) {
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
    const told = this.firsts.get(closed.question);
    const first = closed.first && closed.first.player;
    if (told !== undefined) holds('first', told === first, () => `question ${closed.question}: ${told} was told to be first, all were told ${first}`);
  }
}
