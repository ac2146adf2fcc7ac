const button = document.querySelector("button");
const times = [...document.querySelectorAll("time")].map(t => ({t, utc: t.textContent, at: new Date(t.dateTime)}));
const two = n => String(n).padStart(2, "0");
const local = (d, like) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
  `${two(d.getHours())}:${two(d.getMinutes())}` + (like.length > 16 ? `:${two(d.getSeconds())}` : "");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
let shown = false;
for (const {t, at} of times) t.title = at.toString();
button.hidden = false;
button.onclick = () => {
  shown = !shown;
  for (const {t, utc, at} of times) t.textContent = shown ? local(at, utc) : utc;
  for (const w of document.querySelectorAll(".zone")) w.textContent = shown ? zone : "UTC";
  button.textContent = shown ? "Show UTC" : "Show local time";
};
