"""A player of pictures in HTML, with buttons to play, stop and step, and a slider.

Invariant: the page needs nothing but itself, neither a network nor a style sheet, and several
players in one page do not disturb each other.
"""

from base64 import b64encode
from html import escape
from io import BytesIO
from uuid import uuid4

PAGE = """\
<div id="{name}" style="display:inline-block;max-width:100%;font-family:sans-serif">
<img src="{first}" alt="{words}" style="max-width:100%;display:block">
<div style="display:flex;gap:0.4em;align-items:center;margin-top:0.3em">
<button type="button" aria-label="one step back">&#9664;</button>
<button type="button" aria-label="play or stop">play</button>
<button type="button" aria-label="one step forward">&#9654;</button>
<input type="range" aria-label="frame" min="0" max="{last}" value="0" style="flex:1">
</div>
</div>
<script>
(function () {{
  const root = document.getElementById("{name}"), frames = [{frames}];
  const image = root.querySelector("img"), slider = root.querySelector("input");
  const [back, play, forward] = root.querySelectorAll("button");
  let timer = null;
  function show(frame) {{
    slider.value = Math.min(Math.max(frame, 0), frames.length - 1);
    image.src = frames[slider.value];
  }}
  function stop() {{
    clearInterval(timer);
    timer = null;
    play.textContent = "play";
  }}
  function next() {{
    show(+slider.value + 1);
    if (+slider.value === frames.length - 1) stop();
  }}
  slider.oninput = () => show(+slider.value);
  back.onclick = () => {{ stop(); show(+slider.value - 1); }};
  forward.onclick = () => {{ stop(); next(); }};
  play.onclick = () => {{
    if (timer !== null) return stop();
    if (+slider.value === frames.length - 1) show(0);
    play.textContent = "stop";
    timer = setInterval(next, {milliseconds});
  }};
}})();
</script>
"""


def player_of(pictures, fps, words):
    """The page that plays these pictures of Pillow; `words` describe them."""
    sources = [_source(picture) for picture in pictures]
    return PAGE.format(
        name=f"maxmargin-{uuid4().hex}",
        words=escape(words),
        first=sources[0],
        last=len(sources) - 1,
        frames=",".join(f'"{source}"' for source in sources),
        milliseconds=round(1000 / fps),
    )


def _source(picture):
    """The picture itself, as the address of an image."""
    file = BytesIO()
    picture.save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + b64encode(file.getvalue()).decode("ascii")
