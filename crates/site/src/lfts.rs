//! Forwarding tables as OpenSM's `file` routing engine loads them (`opensm -R file -U FILE`): the form of its own
//! `opensm-lfts.dump`.

use crate::build::Site;
use crate::cabling::Device;
use crate::tables::{Table, Tables};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes the tables of a site.
///
/// # Errors
/// The writer's.
pub fn write(site: &Site, tables: &Tables, mut out: impl Write) -> io::Result<()> {
    let devices = &site.cabling.devices;
    // The text behind every entry of a LID.
    let mut tails: Vec<String> = Vec::new();
    let mut switches: HashMap<u64, &Device> = HashMap::new();
    for device in devices.iter().filter(|device| device.lid != 0) {
        let lid = usize::from(device.lid);
        if tails.len() <= lid {
            tails.resize(lid + 1, String::new());
        }
        if device.guid != 0 {
            tails[lid] = format!(" # {} portguid {:#018x}: '{}'", device.kind.name(), device.guid, device.name);
        }
        switches.insert(device.guid, device);
    }
    let plain = String::new();
    let mut text = String::new();
    for table in &tables.switches {
        let Some(own) = switches.get(&table.guid) else { continue };
        let last = table.ports.len().saturating_sub(1);
        let (lid, guid) = (own.lid, table.guid);
        writeln!(out, "Unicast lids [0-{last}] of switch Lid {lid} guid {guid:#018x} ('{}'):", own.name)?;
        let entries = table.ports.iter().enumerate().filter(|(_, port)| **port != Table::NONE);
        let mut count = 0;
        text.clear();
        for (lid, port) in entries {
            count += 1;
            let _ = writeln!(text, "{lid:#06x} {port:03}{}", tails.get(lid).unwrap_or(&plain));
        }
        out.write_all(text.as_bytes())?;
        writeln!(out, "{count} lids dumped")?;
    }
    Ok(())
}
