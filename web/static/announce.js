// say has a text read out politely by a screen reader, once.
export function say(text) {
  const region = document.getElementById('announcer');
  if (region) region.textContent = text;
}
