//! The page on loopback: two files, one connection at a time, each bounded in bytes and time, and only with the token.

use hotlink_study::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longest head of a request.
const MOST_HEAD: usize = 16 << 10;
/// A browser on the same machine sends and takes a page faster.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves until the process is stopped. `say` gets the address, and the user's next step.
///
/// # Errors
/// It cannot listen.
pub fn serve(page: &str, engine: &[u8], port: u16, opens: bool, say: &dyn Fn(&str)) -> Result<(), Error> {
    let cannot = |what: std::io::Error| Error::Input(format!("--port {port}: cannot listen on 127.0.0.1: {what}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(cannot)?;
    let port = listener.local_addr().map_err(cannot)?.port();
    let site = Site { page, engine, port, token: token()? };
    let address = format!("http://127.0.0.1:{port}/?token={}", site.token);
    say(&address);
    if opens {
        let quiet =
            |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        if quiet(Command::new("xdg-open").arg(&address)).is_err() {
            say("no browser could be opened: open the address above in one on this machine");
        }
    }
    for stream in listener.incoming().flatten() {
        // A browser that goes away is no mistake.
        let _ = site.answer(stream);
    }
    Ok(())
}

/// 128 random bits.
fn token() -> Result<String, Error> {
    let mut bytes = [0u8; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut from| from.read_exact(&mut bytes));
    read.map_err(|error| Error::Input(format!("/dev/urandom: cannot be read: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Site<'a> {
    page: &'a str,
    engine: &'a [u8],
    port: u16,
    token: String,
}

impl Site<'_> {
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = head(&mut stream)?;
        let (status, kind, body) = self.reply(&head);
        let length = body.len();
        // Scripts are allowed by the page itself, by their hashes; the server takes the rest away.
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\
             Content-Security-Policy: default-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob: data:; \
             frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)
    }

    /// Status, kind and body for the head of a request.
    fn reply(&self, head: &str) -> (&'static str, &'static str, &[u8]) {
        let text = "text/plain; charset=utf-8";
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some("GET"), Some(target)) = (words.next(), words.next()) else {
            return ("405 Method Not Allowed", text, b"only GET\n");
        };
        let host = lines.find_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("host")));
        let host = host.map(|(_, value)| value.trim().to_owned()).unwrap_or_default();
        // Another name that leads here is of a page from elsewhere.
        let is_own = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)].contains(&host);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let is_known = query.split('&').any(|part| part.strip_prefix("token=") == Some(&self.token));
        if !is_own || !is_known {
            return ("403 Forbidden", text, b"open the address that the command printed\n");
        }
        match path {
            "/" => ("200 OK", "text/html; charset=utf-8", self.page.as_bytes()),
            "/engine.wasm.gz" => ("200 OK", "application/gzip", self.engine),
            _ => ("404 Not Found", text, b"there is no such page\n"),
        }
    }
}

fn head(stream: &mut TcpStream) -> std::io::Result<String> {
    let (mut head, mut part) = (Vec::new(), [0u8; 2048]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut part)?;
        if read == 0 || head.len() + read > MOST_HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&part[..read]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_with_the_token_is_answered() {
        let site = Site { page: "page", engine: b"engine", port: 7, token: "abc".to_owned() };
        let status = |request: &str| site.reply(&request.replace('|', "\r\n")).0;
        assert_eq!(site.reply("GET /?token=abc HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n").2, b"page");
        assert_eq!(site.reply("GET /engine.wasm.gz?token=abc HTTP/1.1\r\nhost: localhost:7\r\n\r\n").2, b"engine");
        for (request, expected) in [
            ("GET / HTTP/1.1|Host: 127.0.0.1:7||", "403 Forbidden"),
            ("GET /?token=ab HTTP/1.1|Host: 127.0.0.1:7||", "403 Forbidden"),
            ("GET /?token=abc HTTP/1.1|Host: evil.example:7||", "403 Forbidden"),
            ("GET /?token=abc HTTP/1.1||", "403 Forbidden"),
            ("GET /etc/passwd?token=abc HTTP/1.1|Host: 127.0.0.1:7||", "404 Not Found"),
            ("POST /?token=abc HTTP/1.1|Host: 127.0.0.1:7||", "405 Method Not Allowed"),
            ("|", "405 Method Not Allowed"),
        ] {
            assert_eq!(status(request), expected, "{request}");
        }
    }
}
