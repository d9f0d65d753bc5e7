const LETTERS = 'ABCDEFGH';

export const letter = (index) => LETTERS[index];

// choiceOf returns the index of the choice for a key (1 to 8, A to H). It returns -1 for other
// keys, while typing, with a modifier, or for a repeated key.
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
