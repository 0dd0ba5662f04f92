// Clipboards that a browser may have. Tests put one in place before a page opens.

function workingClipboard() {
  const writeText = async (text) => {
    window.copied = text;
  };
  Object.defineProperty(navigator, 'clipboard', { value: { writeText } });
}

function noClipboard() {
  Object.defineProperty(navigator, 'clipboard', { value: undefined });
}

function refusingClipboard() {
  const writeText = async () => {
    throw new DOMException('Write permission denied.', 'NotAllowedError');
  };
  Object.defineProperty(navigator, 'clipboard', { value: { writeText } });
}
