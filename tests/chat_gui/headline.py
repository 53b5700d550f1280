"""The picture at the top of README: two panels of the ordering duel side by side, under a headline.

`make screenshots` takes it after the pictures of the windows; `python -m tests.chat_gui.headline` takes it alone.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURES = ROOT / "docs" / "pictures"
DUEL = "chat-duel-light-2x.png"
# Of a picture at twice the size: the panels of the least order and of the most.
NONORDERED, CAUSALTOTAL = (24, 80, 588, 888), (588, 884, 1152, 1692)
MARGIN, HEAD = 40, 120
FONT = "DejaVuSans-Bold.ttf"
WORDS = ("Without an order", "In a causal total order")


def compose(duel: Image.Image) -> Image.Image:
    """Return the two panels, each under its words."""
    ground = duel.getpixel((4, 4))
    panels = [duel.crop(box) for box in (NONORDERED, CAUSALTOTAL)]
    width, height = panels[0].size
    picture = Image.new("RGB", (2 * width + 3 * MARGIN, HEAD + height + MARGIN), ground)
    pen = ImageDraw.Draw(picture)
    font = ImageFont.truetype(FONT, 40)
    for place, (panel, words) in enumerate(zip(panels, WORDS, strict=True)):
        left = MARGIN + place * (width + MARGIN)
        picture.paste(panel, (left, HEAD))
        pen.text((left + width // 2, HEAD // 2), words, fill="black", font=font, anchor="mm")
    return picture


def take(folder: Path = PICTURES) -> None:
    """Write the picture beside the one that it is cut from."""
    with Image.open(folder / DUEL) as duel:
        picture = compose(duel.convert("RGB"))
    small = picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    small.save(folder / "headline.png", optimize=True)


if __name__ == "__main__":
    take()
