//! hyper: Rust futures on tokio's event loop; with several workers a pool of
//! threads, each with a loop, between which connections move.
//!
//!     hyper-peer HOST PORT WORKERS

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, LOCATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpSocket;

type Answer = Response<Full<Bytes>>;

const PICTURES: [&str; 4] = [
    "/pictures/iterative.svg",
    "/pictures/forking.svg",
    "/pictures/threaded.svg",
    "/pictures/epoll.svg",
];

fn answer(content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    Response::builder()
        .header(CONTENT_TYPE, content_type)
        .body(Full::new(body.into()))
        .expect("a valid response")
}

fn redirect() -> Answer {
    // The standard library's one source of chance: the key of a new hasher.
    let drawn = RandomState::new().hash_one(0) as usize % PICTURES.len();
    Response::builder()
        .status(StatusCode::FOUND)
        .header(LOCATION, PICTURES[drawn])
        .body(Full::default())
        .expect("a valid response")
}

fn escape(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn echo(query: Option<&str>) -> Answer {
    let value = form_urlencoded::parse(query.unwrap_or("").as_bytes())
        .find(|(name, _)| name == "value");
    let content = match value {
        Some((_, value)) => format!("<value>{}</value>", escape(&value)),
        None => String::from("<error>no value specified</error>"),
    };
    answer("text/xml", format!("<http_test>{content}</http_test>"))
}

async fn handle(request: Request<Incoming>) -> Result<Answer, Infallible> {
    Ok(match request.uri().path() {
        "/answer" => answer("text/plain", "42"),
        "/hello" => answer("text/plain", "Hello, World!"),
        "/redirect" => redirect(),
        "/echo" => echo(request.uri().query()),
        _ => {
            let mut response = answer("text/plain", "not found");
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    })
}

async fn serve(address: SocketAddr) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(4096)?;
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        stream.set_nodelay(true).ok();
        tokio::spawn(async move {
            // A client that goes away in mid-request ends here.
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(handle))
                .await
                .ok();
        });
    }
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, workers] = &words[..] else {
        eprintln!("usage: hyper-peer HOST PORT WORKERS");
        std::process::exit(2);
    };
    let address = format!("{host}:{port}").parse().expect("an address");
    let workers: usize = workers.parse().expect("a number of workers");
    let mut builder = match workers {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    builder.enable_all().build()?.block_on(serve(address))
}
