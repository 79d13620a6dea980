//! What results do not tell where they are to be anonymous.

/// Takes folders and addresses away from the words of a command.
pub fn without_places(command: &mut [String]) {
    let mut is_address = false;
    for word in command {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let names_address = ["--listen", "--connect"].contains(&name);
        *word = match value {
            Some(_) if names_address => format!("{name}=ADDRESS"),
            Some(value) => format!("{name}={}", last_part(value)),
            None if is_address => "ADDRESS".to_owned(),
            None => last_part(name).to_owned(),
        };
        is_address = names_address && !word.contains('=');
    }
}

/// A path's last part.
pub fn last_part(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_addresses_go_and_all_else_stays() {
        let line =
            "/opt/bin/hotlink measure pingpong --size 8 --connect node7:4000 --trace=/home/me/t.json --listen=a:1";
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        without_places(&mut words);
        let told = "hotlink measure pingpong --size 8 --connect ADDRESS --trace=t.json --listen=ADDRESS";
        assert_eq!(words.join(" "), told);
    }
}
