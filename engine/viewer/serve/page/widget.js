// A widget of a notebook: the page in a frame, and its messages passed on to the kernel and back.

export default {
  render({model, el}) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
    frame.allowFullscreen = true;
    frame.srcdoc = model.get("page");
    const ordered = event => { if (event.source === frame.contentWindow) model.send(event.data); };
    const told = (message, buffers) => {
      const bytes = buffers && buffers[0];                // a view of bytes, or none
      frame.contentWindow?.postMessage(bytes ? bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) : message, "*");
    };
    addEventListener("message", ordered);
    model.on("msg:custom", told);
    el.append(frame);
    return () => {
      removeEventListener("message", ordered);
      model.off("msg:custom", told);
    };
  },
};
