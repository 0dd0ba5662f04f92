// Makes the page work: first what can be used at once, then what has to be asked for.
const complete = recall();
showLinks();
$('form').addEventListener('submit', (event) => {
  event.preventDefault();
  getQuote();
});
$('move-form').addEventListener('submit', (event) => {
  event.preventDefault();
  compareVersions();
});
$('from').addEventListener('change', () => fillTo($('to').value));
$('form').addEventListener('change', (event) => {
  if (!FIELDS.includes(event.target.id)) return;
  showHints();
  remember();
  dropAnswer();
});
$('form').addEventListener('input', (event) => {
  if (FIELDS.includes(event.target.id)) dropAnswer();
});
addEventListener('popstate', () => { if (!location.hash && recall()) getQuote(); });
watchPin();
watchWallets();
showVersions();
if (complete) getQuote();
else loadVerifier().catch(() => {});
