// What the tests do in the page beyond typing and clicking. Each use evaluates the file anew.
var quotegate = {
  choose(id, value) {
    const select = document.getElementById(id);
    select.value = value;
    for (const name of ['input', 'change']) select.dispatchEvent(new Event(name, { bubbles: true }));
    return select.value;
  },
  // What the page says in the end: the address of the swap, or an alert.
  async outcome(until) {
    for (;;) {
      const alert = document.querySelector('[role=alert]').innerText;
      if (alert) return `ALERT ${alert}`;
      if ((document.getElementById('card').innerText + location.hash).includes(until)) return location.hash;
      await new Promise((done) => setTimeout(done, 50));
    }
  },
  async snippet(name) {
    const place = () => document.getElementById(`snippet-${name}`);
    while (!place()) await new Promise((done) => setTimeout(done, 20));
    return place().textContent;
  },
};
