//! The built page and the engine: where they are, and how they become one file.

use hotlink_study::Error;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the page says that its state and its engine go.
const STATE: &str = r#"<script type="application/json" id="state">{}</script>"#;
const ENGINE: &str = r#"<script type="application/octet-stream" id="engine"></script>"#;

/// The built page.
pub struct Page {
    html: String,
    folder: PathBuf,
}

impl Page {
    /// Next to the command: `target/web` where it was built, `share/hotlink/web` where it was installed.
    ///
    /// # Errors
    /// It is not there, or of another version.
    pub fn find(commands: &[PathBuf]) -> Result<Page, Error> {
        let folders = folders(commands);
        let found = folders.iter().find_map(|folder| Some((folder, std::fs::read_to_string(folder.join(PAGE)).ok()?)));
        let Some((folder, html)) = found else {
            let tried: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            let what = format!("the page is not built: `make explorer` makes {PAGE} (looked in {})", tried.join(", "));
            return Err(Error::Input(what));
        };
        match html.contains(STATE) && html.contains(ENGINE) {
            true => Ok(Page { html, folder: folder.clone() }),
            false => Err(Error::Input(format!("{}: is not the page of this version", folder.join(PAGE).display()))),
        }
    }

    /// The engine's bytes, packed by gzip.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn engine(&self) -> Result<Vec<u8>, Error> {
        let file = self.folder.join("engine.wasm.gz");
        std::fs::read(&file).map_err(|error| Error::Input(format!("{}: cannot be read: {error}", file.display())))
    }

    /// The page that fetches its engine.
    pub fn served(&self, state: &Value) -> String {
        // A text of a user's file must not end its element.
        let state = state.to_string().replace("</", "<\\/").replace("<!--", "<\\!--");
        self.html.replacen(STATE, &STATE.replace("{}", &state), 1)
    }

    /// The page with its engine.
    ///
    /// # Errors
    /// The engine cannot be read.
    pub fn offline(&self, state: &Value) -> Result<String, Error> {
        let engine = base64(&self.engine()?);
        Ok(self.served(state).replacen(ENGINE, &ENGINE.replace("></", &format!(">{engine}</")), 1))
    }
}

const PAGE: &str = "explorer.html";

/// Folders of the page, the likeliest first.
fn folders(commands: &[PathBuf]) -> Vec<PathBuf> {
    let own = std::env::var_os("HOTLINK_WEB").map(PathBuf::from);
    let parents: Vec<PathBuf> =
        commands.iter().filter_map(|command| Some(command.parent()?.parent()?.to_owned())).collect();
    let beside = parents.iter().flat_map(|parent: &PathBuf| [parent.join("web"), parent.join("share/hotlink/web")]);
    let mut folders: Vec<PathBuf> = own.into_iter().chain(beside).collect();
    folders.retain(|folder| folder != Path::new("web"));
    folders.dedup();
    folders
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn base64_as_of_rfc_4648() {
        let known = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        known.iter().for_each(|(bytes, text)| assert_eq!(base64(bytes.as_bytes()), *text));
    }

    #[test]
    fn a_file_cannot_end_the_element_that_it_stands_in() {
        let page = Page { html: format!("<body>{STATE}{ENGINE}</body>"), folder: PathBuf::new() };
        let html = page.served(&json!({ "files": { "x": "</script><script>alert(1)<!--" } }));
        assert_eq!(html.matches("</script>").count(), 2, "{html}");
        let state = html.split(r#"id="state">"#).nth(1).unwrap().split("</script>").next().unwrap();
        let read: Value = serde_json::from_str(&state.replace("<\\!--", "<!--")).unwrap();
        assert_eq!(read["files"]["x"], "</script><script>alert(1)<!--");
    }
}
