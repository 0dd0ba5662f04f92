// Before anything is drawn: whoever follows a link to a quote or a transaction sees that, and not the form.
if (/^#swap=0x/.test(location.hash) || /[?&]tx=0x|^(?=.*[?&]amount=.)(?=.*[?&]recipient=.)/.test(location.search)) {
  document.documentElement.className = 'folded';
}
