const LETTERS = 'ABCDEFGH';

export const letter = (index) => LETTERS[index];

// choiceOf is the index of the choice that a key stands for (1 to 8, A to H),
// or -1: also while typing, with a modifier held, or on a key that repeats.
export function choiceOf(event) {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return -1;
  if (isTyping(event.target) || event.key.length !== 1) return -1;
  const digit = '12345678'.indexOf(event.key);
  return digit >= 0 ? digit : LETTERS.indexOf(event.key.toUpperCase());
}

function isTyping(element) {
  if (element.tagName === 'INPUT') return !['checkbox', 'radio'].includes(element.type);
  return ['TEXTAREA', 'SELECT'].includes(element.tagName);
}
