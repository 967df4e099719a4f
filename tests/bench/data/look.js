// What a browser sees of a report.
document.querySelectorAll("details").forEach(d => d.open = true);
const body = document.documentElement;
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const table = document.querySelector("#guestbook table");
const figures = () => [...table.tBodies[0].rows].map(
    r => parseFloat(r.cells[1].textContent.replace(/^\D*/, "")));
const click = () => table.querySelectorAll("th button")[1].click();
return {over: body.scrollWidth - body.clientWidth,
        sorted: [figures(), click(), figures(), click(), figures()],
        images: [...document.images].map(i => {
            canvas.drawImage(i, 0, 0);
            return {width: i.naturalWidth && i.clientWidth,
                    ground: [...canvas.getImageData(2, 2, 1, 1).data]};
        })}
