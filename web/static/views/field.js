import { fallen, leader, survivors, teams } from '../field.js';
import { number, points, t } from '../i18n.js';
import { html } from '../preact.js';
import { current, outcomeOf, resultOf } from '../scene.js';
import { Stand } from './podium.js';

// OwnStand is the player's place on an arena's stage; who watches has one
// without a score.
export function OwnStand({ match, arena, player, part }) {
  if (part === 'watching') return html`<${Stand} side="me" label=${t(`arena.as.${arena.as}`)} name=${player.nickname} />`;
  const round = match.rounds[current(match)];
  const team = match.found?.teams?.find(({ id }) => id === arena.team)?.name;
  const result = resultOf(round, player.id);
  return html`<${Stand} side="me" label=${team ? `${t('duel.you')} · ${team}` : t('duel.you')} name=${player.nickname}
    score=${match.scores[player.id] ?? 0} lit=${Boolean(round?.mine)} ...${lampOf(round, result, part)} />`;
}

function lampOf(round, result, part) {
  if (result) return { looks: outcomeOf(result), lamp: result.points ? points(result.points) : t(`mark.${outcomeOf(result)}`) };
  if (part === 'out') return { looks: 'none', lamp: t('arena.out') };
  if (round?.mine?.state === 'wrong') return { looks: 'wrong', lamp: t('mark.wrong') };
  if (!round?.question) return {};
  return { lamp: t(round.mine ? 'duel.locked' : 'duel.thinking') };
}

// FieldStand is what the player stands against: of a survival match those still
// in, else who leads.
export function FieldStand({ match }) {
  if (match.found?.mode === 'survival') {
    const fell = fallen(match);
    return html`<${Stand} side="them" label=${t('arena.in')} name=${t('arena.in.of', { n: number(match.found.players) })}
      score=${survivors(match)} scored=${t('arena.in')} looks=${fell > 0 ? 'wrong' : ''} lamp=${fell > 0 && t('arena.fell', { n: number(fell) })} />`;
  }
  const best = leader(match);
  const first = match.rounds[current(match)]?.closed?.first;
  return html`<${Stand} side="them" free=${!best} label=${t('arena.leads')} name=${best?.name ?? t('arena.leads.none')} score=${best?.score}
    lit=${Boolean(first)} lamp=${first && t('arena.first', { name: first.nickname })} />`;
}

// Sides are the teams and their scores, where there are some.
export function Sides({ match, own }) {
  const sides = teams(match);
  if (sides.length === 0) return null;
  return html`
    <ul class="sides" aria-label=${t('arena.teams')}>${sides.map(({ id, name, score }) => html`
      <li key=${id} class=${`side ${id === own ? 'me' : 'them'}`} data-test=${`team-${id}`} data-score=${score}>
        <bdi class="side-name">${name}</bdi>
        ${id === own && html`<span class="tag me">${t('duel.you')}</span>`}
        ${score !== null && html`<span class="side-score"><span class="unseen">${t('final.score')} </span>${number(score)}</span>`}
      </li>`)}</ul>`;
}
