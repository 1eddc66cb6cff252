// Cells of a page that run where they are read. `make live` adds this script; the book itself does not hold it.
"use strict";
(() => {
  const cells = [...document.querySelectorAll("div.cell")]
    .map(root => ({ root, code: root.querySelector(".cell_input pre"), ran: false }))
    .filter(cell => cell.code && cell.code.textContent.trim());
  if (!cells.length) return;
  const lines = copy => { // innerText is empty in a closed fold
    copy.querySelectorAll("br").forEach(br => br.replaceWith("\n"));
    return copy.textContent;
  };
  const textOf = code => lines(code.cloneNode(true)).trimEnd();
  const place = location.pathname.replace(/^\/book\//, "").replace(/\.html$/, "");
  const wait = {}; // messages by the id of their request
  let socket = null, starting = null, kernel = "", queue = Promise.resolve();

  const style = document.createElement("style");
  style.textContent = `
    .live-bar { display: flex; gap: .5rem; align-items: center; margin: .25rem 0 0; font-size: .9rem; }
    .live-bar button { font: inherit; padding: .15rem .7rem; border: 1px solid var(--pst-color-border); border-radius: 6px;
      background: var(--pst-color-surface); color: var(--pst-color-text-base); cursor: pointer; }
    .live-bar .live-run { border-color: var(--pst-color-primary); color: var(--pst-color-primary); }
    .live-bar [role=status] { color: var(--pst-color-text-muted); }
    .cell_input pre[contenteditable]:focus { outline: 2px solid var(--pst-color-primary); }
    .live-top { border-left: 4px solid var(--pst-color-primary); padding-left: .8rem; }
    .live-solved::after { content: " ✓ solved"; color: var(--course-value); font-size: .875rem; }
    [data-solved]::after { content: " " attr(data-solved); color: var(--pst-color-text-muted); font-size: .8125rem; }
    pre.live-changed, pre.live-changed * { color: var(--pst-color-text-base) !important; }
    .live-error { border-left: 3px solid #c0392b; padding-left: .8rem; }`;
  document.head.append(style);

  // On top, that this page is live, and what is solved of it: `make live` keeps that where notebooks keep it.
  const exercises = new Map([...document.querySelectorAll(".course-exercise")].map(card => [
    card.querySelector(".course-solution")?.getAttribute("aria-label")?.split(" ").at(-1), card.querySelector("h3"),
  ]).filter(([name, title]) => name && title));
  const top = Object.assign(document.createElement("p"), { className: "live-top" });
  top.setAttribute("role", "status");
  const count = () => {
    const solved = [...exercises.values()].filter(title => title.classList.contains("live-solved")).length;
    const share = exercises.size ? ` Solved: ${solved} of ${exercises.size} exercises.` : "";
    top.textContent = `The cells of this page run here, and you can change them.${share}`;
  };
  const known = {}; // each exercise of the course: is it solved?
  const solve = names => {
    for (const name of names) { known[name] = true; exercises.get(name)?.classList.add("live-solved"); }
    count();
    for (const link of document.querySelectorAll(".bd-sidebar-primary .toctree-l1 > a")) { // 3/8, where one is solved
      const subject = link.href.match(/\/\d\d_(\w+)\.html/)?.[1];
      const all = Object.keys(known).filter(name => name.startsWith(`${subject}.`)), done = all.filter(name => known[name]);
      if (done.length) link.dataset.solved = `${done.length}/${all.length}`;
    }
  };
  document.querySelector(".bd-article h1")?.after(top);
  count();
  fetch("/solved.json").then(answer => answer.json()).then(found => solve(Object.keys(Object.assign(known, found)).filter(name => found[name])))
    .catch(() => {}); // then only what is solved from now on

  const xsrf = () => document.cookie.match(/(?:^|; )_xsrf=([^;]*)/)?.[1] ?? "";
  const api = async (path, method, body) => {
    const answer = await fetch("/api/" + path, { method, body: body && JSON.stringify(body), headers: { "X-XSRFToken": xsrf() } });
    if (!answer.ok) throw new Error(`the server answered ${answer.status} ${answer.statusText}`);
    return answer.status === 204 ? null : answer.json();
  };

  async function begin() { // a kernel of this page's own, in the chapters' folder
    const path = place + ".live";
    for (const old of await api("sessions", "GET")) if (old.path === path) await api("sessions/" + old.id, "DELETE");
    const made = await api("sessions", "POST", { path, name: place, type: "notebook", kernel: { name: "python3" } });
    kernel = made.kernel.id;
    socket = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/api/kernels/${kernel}/channels`);
    const gone = () => { starting = null; for (const each of Object.values(wait)) each(null); for (const cell of cells) cell.ran = false; };
    socket.onmessage = event => {
      const m = JSON.parse(event.data);
      if (["restarting", "autorestarting", "dead"].includes(m.content?.execution_state)) gone();
      else wait[m.parent_header?.msg_id]?.(m);
    };
    socket.onclose = gone;
    await new Promise((done, fail) => { socket.onopen = done; socket.onerror = () => fail(new Error("no connection to the kernel")); });
  }

  function execute(code, show) { // resolves when the kernel is idle again
    const id = crypto.randomUUID?.() ?? String(Math.random());
    return new Promise((done, fail) => {
      const finish = () => { delete wait[id]; done(); };
      wait[id] = m => {
        if (!m) { delete wait[id]; fail(new Error("the kernel has gone: run the cell again")); return; }
        const type = m.msg_type ?? m.header.msg_type;
        if (type === "status" && m.content.execution_state === "idle") finish();
        else if (["stream", "display_data", "execute_result", "error"].includes(type)) show(type, m.content);
      };
      socket.send(JSON.stringify({
        channel: "shell", parent_header: {}, metadata: {}, buffers: [],
        header: { msg_id: id, msg_type: "execute_request", version: "5.3", session: kernel, username: "", date: new Date().toISOString() },
        content: { code, silent: false, store_history: true, user_expressions: {}, allow_stdin: false, stop_on_error: false },
      }));
    });
  }

  function shower(cell) { // puts what a run says in the place of what the page shows
    cell.root.querySelectorAll(".cell_output").forEach(old => old.remove());
    const out = document.createElement("div");
    out.className = "cell_output docutils container";
    cell.bar.after(out);
    const text = (words, name) => {
      const last = out.lastElementChild;
      const pre = last?.className === name ? last : out.appendChild(Object.assign(document.createElement("pre"), { className: name }));
      pre.append(words.replace(/\x1b\[[0-9;]*[A-Za-z]/g, ""));
    };
    return (type, content) => {
      if (type === "stream") return text(content.text, "live-stream");
      if (type === "error") return text(content.traceback.join("\n") + "\n", "live-error");
      const data = content.data, html = data["text/html"] ?? data["image/svg+xml"];
      if (html) {
        const box = out.appendChild(document.createElement("div"));
        box.innerHTML = html;
        for (const old of box.querySelectorAll("script")) old.replaceWith(Object.assign(document.createElement("script"), { textContent: old.textContent }));
      } else if (data["image/png"]) {
        out.append(Object.assign(new Image(), { src: "data:image/png;base64," + data["image/png"], alt: data["text/plain"] ?? "" }));
      } else if (data["text/plain"]) text(data["text/plain"] + "\n", "live-value"); // and no controls of ipywidgets
    };
  }

  async function run(cell) { // all that stands above first, as in a notebook
    const before = cells.slice(0, cells.indexOf(cell)).filter(other => !other.ran);
    cell.stop.hidden = false;
    try {
      cell.told.textContent = "starting a kernel …";
      await (starting ??= begin().catch(error => { starting = null; throw error; }));
      for (const [n, other] of before.entries()) {
        cell.told.textContent = `running the cells above, ${n + 1} of ${before.length} …`;
        await execute(textOf(other.code), () => {});
        other.ran = true;
      }
      cell.told.textContent = "running …";
      await execute(textOf(cell.code), shower(cell));
      cell.ran = true;
      cell.told.textContent = "";
      judged(cell);
    } catch (error) {
      cell.told.textContent = `It did not run: ${error.message}.`;
    }
    cell.stop.hidden = true;
  }

  function judged(cell) { // a title shows that it is solved, and hints stand once: with what the check has said
    const result = cell.root.querySelector(".course-result"), card = cell.root.closest(".course-exercise");
    if (!result || !card) return;
    if (result.textContent.trim().startsWith("✓")) solve([result.querySelector("code").textContent]);
    for (const fold of card.querySelectorAll(".course-solution details"))
      if (fold.textContent.startsWith("Hint")) fold.hidden = Boolean(result.querySelector("details"));
  }

  cells.forEach((cell, n) => {
    const name = `live:${place}:${n}`, given = textOf(cell.code), first = cell.code.innerHTML;
    const button = (label, act, className = "") => {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: label, className });
      made.addEventListener("click", act);
      cell.bar.append(made);
      return made;
    };
    cell.bar = Object.assign(document.createElement("div"), { className: "live-bar" });
    cell.root.querySelector(".cell_input").after(cell.bar);
    const go = () => { queue = queue.then(() => run(cell)); };
    button("Run", go, "live-run").title = "Shift+Enter";
    cell.stop = button("Stop", () => kernel && api(`kernels/${kernel}/interrupt`, "POST"));
    const again = button("Begin again", () => { cell.code.innerHTML = first; localStorage.removeItem(name); changed(); });
    const changed = () => {
      const own = textOf(cell.code) !== given;
      cell.ran = false;
      again.hidden = !own;
      cell.code.classList.toggle("live-changed", own);
      return own;
    };
    cell.stop.hidden = true;
    cell.told = cell.bar.appendChild(document.createElement("span"));
    cell.told.setAttribute("role", "status");
    const kept = localStorage.getItem(name);
    if (kept !== null) cell.code.textContent = kept;
    try { cell.code.contentEditable = "plaintext-only"; } catch { cell.code.contentEditable = "true"; } // older browsers
    cell.code.spellcheck = false;
    const reach = () => { if (cell.code.tabIndex !== 0) cell.code.tabIndex = 0; }; // the theme takes it from what does not scroll
    new MutationObserver(reach).observe(cell.code, { attributeFilter: ["tabindex"] });
    reach();
    cell.code.setAttribute("role", "textbox");
    cell.code.setAttribute("aria-multiline", "true");
    cell.code.setAttribute("aria-label", "code, can be changed");
    changed();
    cell.code.addEventListener("input", () => {
      if (changed()) localStorage.setItem(name, textOf(cell.code));
      else localStorage.removeItem(name);
    });
    cell.code.addEventListener("keydown", event => {
      if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); go(); }
      else if (event.key === "Enter") { // the next line begins where this one does, or deeper
        event.preventDefault();
        const at = getSelection().getRangeAt(0).cloneRange();
        at.setStart(cell.code, 0);
        const line = lines(at.cloneContents()).split("\n").at(-1);
        document.execCommand("insertText", false, "\n" + line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : ""));
      } else if (event.key === "Tab" && !event.shiftKey && getSelection().isCollapsed && cell.code.dataset.left !== "yes") {
        event.preventDefault();
        document.execCommand("insertText", false, "    ");
      } else if (event.key === "Escape") cell.code.dataset.left = "yes"; // then Tab leaves the cell, as elsewhere
    });
    cell.code.addEventListener("focus", () => { delete cell.code.dataset.left; });
  });
})();
