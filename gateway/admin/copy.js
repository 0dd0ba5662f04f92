// Copies a letter. Where the browser has no clipboard for this page, the buttons stay hidden, and the
// text can be selected.
for (const button of document.querySelectorAll('button[data-letter]')) {
  const letter = document.getElementById(button.dataset.letter);
  const result = button.parentElement.querySelector('[role=status]');
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(letter.value);
      result.textContent = 'Copied';
    } catch {
      letter.select();
      result.textContent = 'The browser refused. The letter is selected: copy it with the keyboard.';
    }
  });
}
