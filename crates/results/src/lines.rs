//! Records of `--format jsonl` and `--format csv` read back. Neither carries the command or the machine.

use hotlink_bench::Record;
use serde_json::{Map, Value};

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

/// Keys in the first line, a record in each that follows. A cell that reads as a number, a truth value or a list is one; an
/// empty cell is no value.
pub(crate) fn csv(text: &str) -> Result<Vec<Record>, String> {
    let mut rows = cells(text)?.into_iter();
    let keys = rows.next().ok_or("holds no line")?;
    let record = |(at, row): (usize, Vec<String>)| {
        if row.len() != keys.len() {
            let (found, wanted) = (row.len(), keys.len());
            return Err(format!("record {}: {found} cells, but the first line names {wanted} keys", at + 1));
        }
        let known = keys.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let fields: Map<String, Value> = known.map(|(key, cell)| (key.clone(), value(cell))).collect();
        Ok(Record::from(fields))
    };
    rows.enumerate().map(record).collect()
}

fn value(cell: String) -> Value {
    match serde_json::from_str(&cell) {
        Ok(Value::Null | Value::String(_)) | Err(_) => Value::String(cell),
        Ok(value) => value,
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
    fn what_is_wrong_is_told_with_its_place() {
        assert!(jsonl("{\"a\": 1}\n\n[]").is_err_and(|why| why == "line 3: is not an object"));
        assert!(jsonl("{\"a\": 1}\n{").is_err_and(|why| why.starts_with("line 2: is not JSON")));
        assert!(csv("a,b\n1\n").is_err_and(|why| why.starts_with("record 1: 1 cells")));
        assert!(csv("a\n\"1").is_err());
    }
}
