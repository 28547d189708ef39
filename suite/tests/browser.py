#!/usr/bin/env python3
"""Opens pages in a headless Chromium and says what is wrong with them.

Usage: browser.py CHROMIUM PAGE...

It talks to the browser through a pipe (--remote-debugging-pipe, the DevTools protocol), so that keys and clicks are real
ones, and pages are tested as they are. Only the standard library is needed.

Prints PAGE <tab> CHECK <tab> DETAIL for each thing that is wrong, and "PAGE <tab> done <tab> CHECK..." with the checks
that were made once a page is through. Exit: 0 when all pages are through, whatever was found; 1 when the browser failed.

Checks:
  console      an error, a failed assertion or an exception in the console
  network      a request for anything that is not a file or part of the page
  scroll       the page is wider than a screen of 400 or 1280 pixels
  alternative  a picture without a text alternative; a picture by itself (.svg) has a title
  link         a link or a picture whose target does not exist
  contrast     text that is hard to read, on light or dark pages; a dark page that is not dark
  controls     filters and the order of history.html do not do what they say, by keyboard or by click
"""
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

DEADLINE_S = 60
WIDTHS = (400, 1280)

# Runs in the page. Each function returns a list of texts: what is wrong.
LIBRARY = r"""
(() => {
  const name = e => {
    let text = e.tagName.toLowerCase();
    if (e.id) text += '#' + e.id;
    if (typeof e.className === 'string' && e.className) text += '.' + e.className.trim().split(/\s+/).join('.');
    const said = (e.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 40);
    return said ? text + ' "' + said + '"' : text;
  };
  const top = () => document.body || document.documentElement; // a picture by itself has no body
  const visible = e => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});

  const scroll = () => {
    const root = document.scrollingElement;
    if (!document.body) return []; // a picture is as wide as it is drawn
    if (root.scrollWidth <= root.clientWidth) return [];
    const wide = [...document.querySelectorAll('body *')].filter(e => {
      if (e.getBoundingClientRect().right + scrollX <= root.clientWidth + 0.5) return false;
      for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
        if (getComputedStyle(p).overflowX !== 'visible') return false;
      return true;
    });
    return [root.scrollWidth + ' of ' + root.clientWidth + ' pixels: ' + (wide.length ? name(wide.pop()) : 'nothing seen')];
  };

  const said = text => Boolean((text || '').trim());
  const labelled = e => said(e.getAttribute('aria-label')) || said(e.getAttribute('title')) ||
    (e.getAttribute('aria-labelledby') || '').split(/\s+/).some(id => id && document.getElementById(id));
  const alternative = () => {
    const wrong = [];
    for (const e of document.querySelectorAll('img, svg, figure, canvas, [role=img]')) {
      const caption = e.tagName === 'FIGURE' && e.querySelector(':scope > figcaption');
      const title = e.tagName.toLowerCase() === 'svg' && e.querySelector(':scope > title');
      const fine = e.getAttribute('aria-hidden') === 'true' || labelled(e) || (e.tagName === 'IMG' && said(e.alt)) ||
        (caption && said(caption.textContent)) || (title && said(title.textContent));
      if (!fine) wrong.push(name(e));
    }
    return wrong;
  };

  const broken = () => [...document.images || []].filter(e => e.complete && !e.naturalWidth).map(name);
  const links = () => [...document.querySelectorAll('a[href], area[href]')].map(e => [e.getAttribute('href'), name(e)])
    .concat([...document.querySelectorAll('img[src]')].map(e => [e.getAttribute('src'), name(e)]));
  const anchors = ids => ids.filter(id => !document.getElementById(id) && !document.getElementsByName(id).length);

  const parse = text => {
    const p = text.match(/[\d.]+%?/g).map(t => t.endsWith('%') ? parseFloat(t) * 2.55 : parseFloat(t));
    const unit = text.startsWith('color(srgb') ? 255 : 1;
    return [p[0] * unit, p[1] * unit, p[2] * unit, p.length > 3 ? p[3] : 1];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = c => {
    const l = c.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
  };
  const ratio = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const canvas = dark => dark ? [18, 18, 18, 1] : [255, 255, 255, 1];
  const behind = (e, dark) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.push(parse(getComputedStyle(p).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), canvas(dark));
  };
  const contrast = dark => {
    const wrong = [], texts = document.createTreeWalker(top(), NodeFilter.SHOW_TEXT), seen = new Set();
    let judged = 0;
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const e = node.parentElement;
      if (!said(node.data) || seen.has(e) || !visible(e) || e.closest('script, style, option, title, desc')) continue;
      seen.add(e);
      const style = getComputedStyle(e), ground = behind(e, dark);
      let ink = parse(e instanceof SVGElement ? style.fill : style.color), opacity = 1;
      for (let p = e; p; p = p.parentElement) opacity *= parseFloat(getComputedStyle(p).opacity);
      ink = over([ink[0], ink[1], ink[2], ink[3] * opacity], ground);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const found = ratio(ink, ground);
      judged++;
      if (found < (large ? 3 : 4.5)) wrong.push(found.toFixed(2) + ': ' + name(e));
    }
    if (!judged) wrong.push('there is no text');
    if (dark && luminance(behind(top(), true)) > 0.2) wrong.push('the page is light where dark is asked for');
    return wrong;
  };

  const rows = () => [...document.querySelectorAll('#trends > li')];
  const state = () => ({
    shown: rows().filter(visible).map(e => ({words: e.dataset.words, verdict: e.dataset.verdict, place: +e.dataset.place,
                                             change: +e.dataset.change, creep: +e.dataset.creep})),
    all: rows().length, count: document.getElementById('count').textContent, focus: document.activeElement.id,
    words: document.getElementById('words').value, verdict: document.getElementById('verdict').value,
    order: document.getElementById('order').value, verdicts: [...new Set(rows().map(e => e.dataset.verdict))],
    options: Object.fromEntries(['verdict', 'order'].map(id => [id, [...document.getElementById(id).options].map(o => o.value)])),
  });
  const middle = id => {
    const e = document.getElementById(id);
    e.scrollIntoView({block: 'center'});
    const box = e.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  window.__checks = {scroll, alternative, broken, links, anchors, contrast, state, middle};
})()
"""

KEYS = {"Tab": ("Tab", 9), "ArrowDown": ("ArrowDown", 40), "ArrowUp": ("ArrowUp", 38), "Home": ("Home", 36),
        "Backspace": ("Backspace", 8)}


class Browser:
    """A browser with one page, and the events that it told since they were last taken."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="ditbench-browser-", ignore_cleanup_errors=True)
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()
        flags = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                 "--no-default-browser-check", "--user-data-dir=" + self.profile.name]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # root has none to enter

        def place_pipes():  # the browser reads from 3 and writes to 4
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 5) for fd in (to_browser, from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen([program, *flags, "about:blank"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
                                        preexec_fn=place_pipes, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.events, self.number, self.session = b"", [], 0, None
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = [t for t in targets if t["type"] == "page"][0]
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def read_message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser is silent")
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + DEADLINE_S
        while True:
            answer = self.read_message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def run(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def open(self, url):
        """Loads a page whole, with the pictures that lie below the screen."""
        self.events.clear()
        self.ask("Page.navigate", url=url)
        deadline = time.monotonic() + DEADLINE_S
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.read_message(deadline))
        self.run(LIBRARY)
        self.run("Promise.all([...document.images || []].map(e => { e.loading = 'eager'; return e.decode().catch(() => 0); }))")

    def show(self, width, dark):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def key(self, key):
        code, number = KEYS[key] if key in KEYS else (None, ord(key.upper()))
        more = {"key": key, "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number}
        if code:
            more["code"] = code
            self.ask("Input.dispatchKeyEvent", type="rawKeyDown", **more)
        else:
            self.ask("Input.dispatchKeyEvent", type="keyDown", text=key, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **more)

    def click(self, element):
        x, y = self.run(f"__checks.middle({json.dumps(element)})")
        for kind in "mousePressed", "mouseReleased":
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.profile.cleanup()


def check_events(events):
    """What the browser told while the page was loaded and used."""
    for event in events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            yield "console", details.get("exception", {}).get("description", details["text"]).splitlines()[0]
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            yield "console", " ".join(str(a.get("value", a.get("description", ""))) for a in params["args"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            yield "console", f"{params['entry']['text']} {params['entry'].get('url', '')}"
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                yield "network", url


def has_anchor(path, anchor):
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return re.search(r"""\s(id|name)=["']?%s["'\s>]""" % re.escape(anchor), text) is not None


def check_links(browser, page):
    """In-page and relative targets; the rest of the network is nobody's promise."""
    for target, element in browser.run("__checks.links()"):
        parts = urllib.parse.urlsplit(target)
        anchor = urllib.parse.unquote(parts.fragment)
        if parts.scheme or parts.netloc:
            continue
        path = os.path.join(os.path.dirname(page), urllib.parse.unquote(parts.path)) if parts.path else page
        if not os.path.exists(path):
            yield "link", f"{target} is not there: {element}"
        elif anchor and not parts.path and browser.run(f"__checks.anchors({json.dumps([anchor])})"):
            yield "link", f"{target} is not on the page: {element}"
        elif anchor and parts.path and not has_anchor(path, anchor):
            yield "link", f"{target}: that page has no such place: {element}"
    for element in browser.run("__checks.broken()"):
        yield "link", f"the picture cannot be shown: {element}"


def check_layout(browser):
    for width in WIDTHS:
        for dark in False, True:
            browser.show(width, dark)
            for what in browser.run(f"__checks.contrast({json.dumps(dark)})"):
                yield "contrast", f"{'dark' if dark else 'light'}, {width}: {what}"
        for what in browser.run("__checks.scroll()"):
            yield "scroll", f"{width}: {what}"


# ---- the controls of history.html -----------------------------------------------------------------------------------


def expect(state, what, shown):
    """The rows that are shown are these places, in this order, and their number is told."""
    found = [row["place"] for row in state["shown"]]
    if found != shown:
        yield "controls", f"{what}: shows rows {found}, not {shown}"
    if state["count"] != f"{len(shown)} of {state['all']} shown":
        yield "controls", f"{what}: says \"{state['count']}\", shows {len(found)} of {state['all']}"


def look(browser):
    return browser.run("__checks.state()")


def tab_to(browser, element):
    for _ in range(20):
        browser.key("Tab")
        if look(browser)["focus"] == element:
            return True
    return False


def choose(browser, element, value):
    """Moves a list by arrow keys."""
    browser.key("Home")
    for _ in look(browser)["options"][element]:
        if look(browser)[element] == value:
            break
        browser.key("ArrowDown")
    return look(browser)[element] == value


def check_words(browser, rows, reach):
    """Filters by the words of the last row, typed."""
    words = rows[-1]["words"].split()[:3]
    for letter in " ".join(reversed(words)):
        browser.key(letter)
    wanted = [row["place"] for row in rows if all(word in row["words"] for word in words)]
    yield from expect(look(browser), f"words \"{' '.join(words)}\" by {reach}", wanted)
    for letter in " nobody":
        browser.key(letter)
    yield from expect(look(browser), f"words of no case by {reach}", [])
    while look(browser)["words"]:
        before = look(browser)["words"]
        browser.key("Backspace")
        if look(browser)["words"] == before:
            break
    yield from expect(look(browser), f"no words by {reach}", [row["place"] for row in rows])


def check_verdicts(browser, rows, reach):
    for verdict in look(browser)["verdicts"]:
        if not choose(browser, "verdict", verdict):
            yield "controls", f"verdict {verdict} cannot be chosen by {reach}"
            continue
        yield from expect(look(browser), f"verdict {verdict} by {reach}",
                          [row["place"] for row in rows if row["verdict"] == verdict])
    choose(browser, "verdict", "")
    yield from expect(look(browser), f"all verdicts by {reach}", [row["place"] for row in rows])


def check_order(browser, rows, reach):
    for order in "change", "creep", "name":
        if not choose(browser, "order", order):
            yield "controls", f"order {order} cannot be chosen by {reach}"
            continue
        wanted = sorted(rows, key=lambda row: (0 if order == "name" else -row[order], row["place"]))
        yield from expect(look(browser), f"order {order} by {reach}", [row["place"] for row in wanted])


def check_controls(browser):
    if not browser.run("Boolean(document.getElementById('trends'))"):
        return
    browser.show(1280, False)
    rows = look(browser)["shown"]
    yield from expect(look(browser), "at first", list(range(look(browser)["all"])))
    uses = {"words": check_words, "verdict": check_verdicts, "order": check_order}
    for element, use in uses.items():
        if tab_to(browser, element):
            yield from use(browser, rows, "keyboard")
        else:
            yield "controls", f"the Tab key never reaches {element}"
    browser.run("document.activeElement.blur()")
    browser.click("words")
    if look(browser)["focus"] == "words":
        yield from check_words(browser, rows, "click")
    else:
        yield "controls", f"a click on words leads to \"{look(browser)['focus']}\""


def check_page(browser, page):
    browser.show(1280, False)
    browser.open(Path(os.path.abspath(page)).as_uri())
    yield from (("alternative", what) for what in browser.run("__checks.alternative()"))
    yield from check_links(browser, page)
    yield from check_layout(browser)
    browser.run("for (const e of document.querySelectorAll('details')) e.open = true")
    yield from check_layout(browser)
    yield from check_controls(browser)
    yield from check_events(browser.events)


def main():
    browser = Browser(sys.argv[1])
    try:
        for page in sys.argv[2:]:
            for check, what in dict.fromkeys(check_page(browser, page)):
                print(page, check, " ".join(what.split()), sep="\t")
            print(page, "done", "", sep="\t", flush=True)
    finally:
        browser.close()


if __name__ == "__main__":
    try:
        main()
    except (EOFError, OSError, RuntimeError, TimeoutError) as error:
        sys.exit(f"browser.py: {error}")
