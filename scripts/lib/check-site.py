#!/usr/bin/python3
"""check-site.py: looks at the site that make-site has built, with headless Chromium, as a reader would.

	check-site.py SITE WORK [PICTURES]

SITE is the folder of the site, WORK one for Chromium's files. With PICTURES, screenshots of some pages go there. Each check is
a line "ok NAME" or "not ok NAME", with what is wrong below, indented. Needs Debian's chromium, chromium-driver, python3-selenium
and poppler-utils.
"""
import base64
import functools
import html.parser
import http.server
import os
import re
import subprocess
import sys
import threading
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SITE, WORK = (os.path.abspath(folder) for folder in sys.argv[1:3])
PICTURES = sys.argv[3] if len(sys.argv) > 3 else None
DESKTOP, PHONE = (1280, 900), (390, 844)


def verdict(name, faults):
	"""Prints the line of one check, and below it what is wrong."""
	print("not ok" if faults else "ok", name, flush=True)
	for fault in faults[:40]:
		print("   ", fault)


class Page(html.parser.HTMLParser):
	"""The links and the anchors of a page, and what it loads."""

	def __init__(self, path):
		super().__init__()
		self.links, self.anchors, self.without_text, self.loaded = [], set(), [], []
		with open(os.path.join(SITE, path), encoding="utf-8") as file:
			self.feed(file.read())

	def handle_starttag(self, tag, attributes):
		attributes = dict(attributes)
		for name in ("id", "name"):
			if attributes.get(name) and tag != "meta":
				self.anchors.add(attributes[name])
		for name in ("href", "src"):
			if name in attributes:
				self.links.append(attributes[name] or "")
		if tag == "img" and not attributes.get("alt"):
			self.without_text.append(attributes.get("src"))
		if tag in ("script", "img", "iframe") or tag == "link" and attributes.get("rel") != "canonical":
			self.loaded.append(attributes.get("src") or attributes.get("href") or "")


def all_pages():
	found = []
	for folder, _, files in os.walk(SITE):
		found += [os.path.relpath(os.path.join(folder, file), SITE) for file in files if file.endswith(".html")]
	return {path: Page(path) for path in sorted(found)}


def check_links(pages):
	"""Each link of each page leads to a file of the site, and to an anchor that is there."""
	broken, links, outside, pictures = [], 0, [], []
	for path, page in pages.items():
		pictures += [f"{path}: {picture}" for picture in page.without_text]
		outside += [f"{path}: {link}" for link in page.loaded if urllib.parse.urlsplit(link).netloc]
		if path == "404.html":
			continue    # its links begin at the root of the site, wherever that is
		for link in page.links:
			address = urllib.parse.urlsplit(link)
			if address.scheme or address.netloc:
				continue
			links += 1
			target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(address.path))) if address.path else path
			if os.path.isdir(os.path.join(SITE, target)):
				target = os.path.normpath(os.path.join(target, "index.html"))
			anchor = urllib.parse.unquote(address.fragment)
			if not os.path.isfile(os.path.join(SITE, target)):
				broken.append(f"{path}: {link}")
			elif anchor and target in pages and anchor not in pages[target].anchors and anchor != "__skip":
				broken.append(f"{path}: {link} has no such anchor")
	verdict(f"{links} links of {len(pages)} pages lead to a page and to an anchor", broken if links else ["there is no link"])
	verdict("every picture has a text in its place", pictures)
	verdict("nothing is loaded from another server", outside)


class Quiet(http.server.SimpleHTTPRequestHandler):
	def log_message(self, *_):
		pass


def serve():
	server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
	threading.Thread(target=server.serve_forever, daemon=True).start()
	return f"http://127.0.0.1:{server.server_port}/"


def start_browser():
	options = webdriver.ChromeOptions()
	options.binary_location = "/usr/bin/chromium"
	# Chromium's sandbox is not available everywhere, and these are our own pages. Only this machine is reached.
	for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={WORK}/profile",
			"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking"):
		options.add_argument(option)
	options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
	return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def set_size(browser, size, mobile=False):
	browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": mobile})


# Elements that are wider than the window, unless they lie in an element that scrolls by itself.
OVERFLOW = """
	const wide = [], width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > width) {
		for (const e of document.querySelectorAll('.md-main *, .md-footer *')) {
			const box = e.getBoundingClientRect();
			let scrolls = false;
			for (let p = e.parentElement; p; p = p.parentElement) if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX)) scrolls = true;
			if (!scrolls && box.width > 0 && box.right > width + 1) wide.push(e.tagName + ' ' + Math.round(box.right) + ': ' + e.textContent.trim().slice(0, 60));
		}
		if (!wide.length) wide.push('scrollWidth ' + document.documentElement.scrollWidth);
	}
	return wide.slice(0, 3);
"""
# Pictures that were not loaded.
BROKEN_PICTURES = "return [...document.images].filter(i => i.complete && i.naturalWidth == 0).map(i => i.src)"
# Tables that are more than two and a half times as wide as what is visible of them; nobody reads these.
WIDE_TABLES = """
	return [...document.querySelectorAll('.md-typeset table')].map(t => t.parentElement.closest('.md-typeset__scrollwrap') || t)
		.filter(w => w.scrollWidth > 2.5 * w.clientWidth).map(w => w.scrollWidth + ' of ' + w.clientWidth + ': ' + w.textContent.trim().replace(/\\s+/g, ' ').slice(0, 60))
"""


def check_widths(browser, root, pages, size, name, mobile):
	set_size(browser, size, mobile)
	overflows, pictures, tables = [], [], []
	for path in pages:
		browser.get(root + path)
		overflows += [f"{path}: {fault}" for fault in browser.execute_script(OVERFLOW)]
		pictures += [f"{path}: {fault}" for fault in browser.execute_script(BROKEN_PICTURES)]
		# Results are tables of figures, up to eighteen columns: they may be scrolled.
		if not path.startswith("bench/results/"):
			tables += [f"{path}: {fault}" for fault in browser.execute_script(WIDE_TABLES)]
		if PICTURES and path in ("index.html", "docs/tbf.html", "docs/reference.html", "docs/trust.html", "docs/comparison.html", "docs/bf.html"):
			browser.save_screenshot(os.path.join(PICTURES, f"{name}-{path.replace('/', '-')}.png"))
	verdict(f"no page is wider than {size[0]} pixels", overflows)
	verdict(f"no table is wider than two and a half {name}s", tables)
	verdict(f"all pictures are there at {size[0]} pixels", pictures)


def words_of(text):
	return re.findall(r"\w{4,}", text)


def check_print(browser, root, pages):
	"""On paper no word is lost, and none lies beyond the edge of the sheet."""
	set_size(browser, DESKTOP)
	beyond, lost = [], []
	for path in pages:
		browser.get(root + path)
		browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
		wanted = words_of(browser.find_element(By.CSS_SELECTOR, "article").text)
		pdf = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})["data"]
		name = os.path.join(PICTURES or WORK, path.replace("/", "-") + ".pdf")
		with open(name, "wb") as file:
			file.write(base64.b64decode(pdf))
		boxes = subprocess.run(["pdftotext", "-bbox", name, "-"], capture_output=True, text=True, check=True).stdout
		width, words = 0.0, []
		for line in boxes.splitlines():
			if found := re.search(r'<page width="([\d.]+)"', line):
				width = float(found[1])
			elif found := re.search(r'<word xMin="([\d.-]+)" yMin="[\d.-]+" xMax="([\d.-]+)" yMax="[\d.-]+">(.*)</word>', line):
				if float(found[1]) < 0 or float(found[2]) > width:
					beyond.append(f"{path}: {found[3]}")
				words.append(found[3])
		# Words may be broken anywhere in narrow columns, so only letters are compared.
		printed = "".join(re.findall(r"\w", html.unescape("".join(words))))
		missing = [word for word in set(wanted) if word not in printed and word[:4] not in printed]
		# A narrow cell breaks a word, and the next cell stands between its letters. A column that is cut off loses many.
		if len(missing) > max(5, 0.02 * len(set(wanted))):
			lost.append(f"{path}: {len(missing)} of {len(set(wanted))} words, {' '.join(sorted(missing)[:8])}")
		if not PICTURES:
			os.remove(name)
	verdict("on paper no word lies beyond the sheet", beyond)
	verdict("on paper no word is lost", lost)


def search_for(browser, root, words):
	"""The pages that the search lists, in its order."""
	browser.get(root + "index.html")
	box = browser.find_element(By.CSS_SELECTOR, ".md-search__input")
	browser.execute_script("arguments[0].focus()", box)
	box.send_keys(words)
	WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, ".md-search-result__link"))
	return [urllib.parse.urlsplit(link.get_attribute("href")).path.lstrip("/") + "#" + urllib.parse.urlsplit(link.get_attribute("href")).fragment
		for link in browser.find_elements(By.CSS_SELECTOR, ".md-search-result__link")]


def check_search(browser, root):
	set_size(browser, DESKTOP)
	for words, page in (("half-life", "docs/tbf.html"), ("bf_index_advise", "docs/reference.html"), ("postgres_fdw", "docs/neighbours.html"), ("pg_cron", "docs/operations.html")):
		found = search_for(browser, root, words)
		verdict(f"the search for {words} finds {page}", [] if any(link.startswith(page) for link in found[:12]) else found[:12] or ["nothing"])


def main():
	os.makedirs(WORK, exist_ok=True)
	if PICTURES:
		os.makedirs(PICTURES, exist_ok=True)
	pages = all_pages()
	check_links(pages)
	paths = [path for path in pages if path != "404.html"]
	root = serve()
	browser = start_browser()
	try:
		check_widths(browser, root, paths, DESKTOP, "screen", False)
		check_widths(browser, root, paths, PHONE, "phone", True)
		check_search(browser, root)
		check_print(browser, root, paths)
		errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
		verdict("the browser reports no error", errors)
	finally:
		browser.quit()


main()
