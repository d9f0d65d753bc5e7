// Hall holds the data that the players of one arena share. All of them are in one VU, so
// that the VU can compare what they receive.

import { holds } from './checks.js';

export class Hall {
  constructor(ranked) {
    this.ranked = ranked; // counts for boards
    this.pushes = []; // pushes by seq, as first received
    this.firsts = new Map(); // the player named as first, by question
    this.onfound = () => {}; // called once
    this.onclosed = () => {}; // called once for each question
    this.last = -1; // last question that was closed
  }

  // compare compares a numbered push with the pushes of the other players.
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
