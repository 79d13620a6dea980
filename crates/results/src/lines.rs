//! Records of `--format jsonl`, `csv`, `md` and `osu` read back. None carries the command or the machine; the last two have
//! rounded values.

use hotlink_bench::Record;
use hotlink_study::schema::{self, Kind, Records};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One record a line.
pub(crate) fn jsonl(text: &str) -> Result<Vec<Record>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let record = |(at, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => Ok(Record::from(fields)),
        Ok(_) => Err(format!("line {}: is not an object", at + 1)),
        Err(error) => Err(format!("line {}: is not JSON: {error}", at + 1)),
    };
    lines.map(record).collect()
}

/// Keys in the first line, a record in each that follows. A cell that reads as a number, a truth value or a list
/// becomes one, unless its key is of text. An empty cell is no value.
pub(crate) fn csv(text: &str) -> Result<Vec<Record>, String> {
    let mut rows = cells(text)?.into_iter();
    let keys = rows.next().ok_or("holds no line")?;
    let record = |(at, row): (usize, Vec<String>)| {
        if row.len() != keys.len() {
            let (found, wanted) = (row.len(), keys.len());
            return Err(format!("record {}: {found} cells, but the first line names {wanted} keys", at + 1));
        }
        let known = keys.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let fields: Map<String, Value> = known.map(|(key, cell)| (key.clone(), value(key, cell))).collect();
        Ok(Record::from(fields))
    };
    rows.enumerate().map(record).collect()
}

/// Whether all records that have this key have a text there: `7.4` is a version, not a number.
fn is_text(key: &str) -> bool {
    static TEXTS: LazyLock<BTreeMap<&str, bool>> = LazyLock::new(|| {
        let mut texts = BTreeMap::new();
        for key in schema::all().flat_map(Records::keys) {
            *texts.entry(key.name).or_insert(true) &= key.kind == Kind::Text;
        }
        texts
    });
    TEXTS.get(key).is_some_and(|is_text| *is_text)
}

pub(crate) fn value(key: &str, cell: String) -> Value {
    if is_text(key) {
        return Value::String(cell);
    }
    match serde_json::from_str(&cell) {
        Ok(Value::Null | Value::String(_)) | Err(_) => Value::String(cell),
        Ok(value) => value,
    }
}

/// Tables: values that all rows share come first as `key: value`, a single record as rows of key and value.
pub(crate) fn markdown(text: &str) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let (mut shared, mut heads, mut one) = (Map::new(), None::<Vec<String>>, None::<Map<String, Value>>);
    for (at, line) in text.lines().enumerate() {
        let Some(row) = line.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) else {
            records.extend(one.take().map(Record::from));
            if heads.take().is_some() || !line.trim().is_empty() {
                shared = shared_by(line);
            }
            continue;
        };
        let row = bars(row);
        match &heads {
            None => heads = Some(row),
            Some(_) if row.iter().all(|cell| cell.contains("---") && cell.trim_matches(['-', ':']).is_empty()) => {}
            Some(heads) if heads.len() != row.len() => {
                return Err(format!("line {}: {} cells, but its table has {} columns", at + 1, row.len(), heads.len()));
            }
            Some(heads) if heads[..] == ["key", "value"] => {
                let fields = one.get_or_insert_with(|| shared.clone());
                fields.insert(row[0].clone(), marked(&row[0], &row[1]));
            }
            Some(heads) => {
                let known = heads.iter().zip(&row).filter(|(_, cell)| !cell.is_empty() && *cell != "-");
                let own = known.map(|(head, cell)| (head.clone(), marked(head, cell)));
                records.push(Record::from(shared.clone().into_iter().chain(own).collect::<Map<_, _>>()));
            }
        }
    }
    records.extend(one.map(Record::from));
    if records.is_empty() { Err("holds no table".to_owned()) } else { Ok(records) }
}

/// Cells of a row between bars; a bar in a cell has a backslash before it.
fn bars(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = cells.len() - 1;
        match letter {
            '\\' if letters.peek() == Some(&'|') => cells[last].extend(letters.next()),
            '|' => cells.push(String::new()),
            letter => cells[last].push(letter),
        }
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// A line of `key: value`, three spaces apart.
fn shared_by(line: &str) -> Map<String, Value> {
    let parts = line.split("   ").filter_map(|part| part.trim().split_once(": "));
    let is_key = |key: &str| !key.is_empty() && !key.contains(' ');
    parts.filter(|(key, _)| is_key(key)).map(|(key, text)| (key.to_owned(), marked(key, text.trim()))).collect()
}

/// A value as tables print it.
fn marked(key: &str, cell: &str) -> Value {
    match cell {
        "yes" if !is_text(key) => Value::Bool(true),
        "no" if !is_text(key) => Value::Bool(false),
        cell => value(key, cell.replace("<br>", "\n")),
    }
}

/// Cells by row; quotes may hold commas, line ends and doubled quotes.
fn cells(text: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            letter => cell.push(letter),
        }
    }
    if is_quoted {
        return Err("a quote is opened and not closed".to_owned());
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_commas_quotes_and_kinds() {
        let found =
            csv("fabric,nodes,efficiency,ok,note\r\n\"a, \"\"b\"\"\",4,0.5,true,\nc,8,,false,x\n").expect("records");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].text("fabric"), found[0].number("efficiency")), (Some("a, \"b\""), Some(0.5)));
        assert_eq!((found[1].number("nodes"), found[1].get("efficiency")), (Some(8.0), None));
        assert_eq!(found[0].get("ok"), Some(&Value::Bool(true)));
    }

    #[test]
    fn texts_that_look_like_numbers_stay_texts() {
        for text in ["7.4", "1e5", "true", "[1]", "yes"] {
            let of = |records: Result<Vec<Record>, String>| records.expect("records").remove(0);
            let record = of(csv(&format!("program_version,fabric,size_B\n{text},{text},8\n")));
            let table = of(markdown(&format!(
                "fabric: {text}\n\n| program_version | size_B |\n| --- | --- |\n| {text} | 8 |\n"
            )));
            for found in [record, table] {
                let texts = ["program_version", "fabric"].map(|key| found.text(key));
                assert_eq!((texts, found.number("size_B")), ([Some(text); 2], Some(8.0)), "{text}");
            }
        }
    }

    #[test]
    fn tables_give_their_records_back() {
        let text = "fabric: a b   benchmark: pingpong\n\n| size_B | latency_us | note |\n| ---: | ---: | --- |\n\
            | 8 | 3.1 | x\\|y<br>z |\n| 64 | - |  |\n\nestimated: topology; assumed: nic_buffer\n";
        let found = markdown(text).expect("records");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].text("fabric"), found[0].number("size_B")), (Some("a b"), Some(8.0)));
        assert_eq!(
            (found[0].text("note"), found[1].get("latency_us"), found[1].get("note")),
            (Some("x|y\nz"), None, None)
        );
        let one = "| key | value |\n| --- | --- |\n| nodes | 8 |\n| ok | yes |\n";
        let one = markdown(&format!("{one}\n{one}")).expect("records");
        assert_eq!((one.len(), one[1].number("nodes"), one[1].get("ok")), (2, Some(8.0), Some(&Value::Bool(true))));
        assert!(markdown("| a | b |\n| --- | --- |\n| 1 |\n").is_err_and(|why| why.starts_with("line 3: 1 cells")));
        assert!(markdown("# A page\n").is_err_and(|why| why == "holds no table"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert!(jsonl("{\"a\": 1}\n\n[]").is_err_and(|why| why == "line 3: is not an object"));
        assert!(jsonl("{\"a\": 1}\n{").is_err_and(|why| why.starts_with("line 2: is not JSON")));
        assert!(csv("a,b\n1\n").is_err_and(|why| why.starts_with("record 1: 1 cells")));
        assert!(csv("a\n\"1").is_err());
    }
}
