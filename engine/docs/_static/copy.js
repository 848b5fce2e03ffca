// A button on every example, which copies what runs by itself: the example after those that it goes on from.
addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div[data-copy]")) {
    const button = Object.assign(document.createElement("button"), {className: "copy", textContent: "copy", title: "copies what runs by itself"});
    button.onclick = async () => {
      const text = block.dataset.copy + "\n";
      try { await navigator.clipboard.writeText(text); }
      catch {                                             // a page from the disk may not
        const area = document.body.appendChild(Object.assign(document.createElement("textarea"), {value: text}));
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    };
    block.append(button);
  }
});
