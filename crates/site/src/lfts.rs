//! Forwarding tables as OpenSM's `file` routing engine loads them (`opensm -R file -U FILE`): the form of its own
//! `opensm-lfts.dump`.

use crate::build::Site;
use crate::cabling::Device;
use crate::tables::{Table, Tables};
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes the tables of a site.
///
/// # Errors
/// The writer's.
pub fn write(site: &Site, tables: &Tables, out: &mut impl Write) -> io::Result<()> {
    let devices = &site.cabling.devices;
    let mut owner: HashMap<u16, &Device> = HashMap::new();
    let mut switches: HashMap<u64, &Device> = HashMap::new();
    for device in devices.iter().filter(|device| device.lid != 0) {
        owner.insert(device.lid, device);
        switches.insert(device.guid, device);
    }
    for table in &tables.switches {
        let Some(own) = switches.get(&table.guid) else { continue };
        let last = table.ports.len().saturating_sub(1);
        let (lid, guid) = (own.lid, table.guid);
        writeln!(out, "Unicast lids [0-{last}] of switch Lid {lid} guid {guid:#018x} ('{}'):", own.name)?;
        let entries = table.ports.iter().enumerate().filter(|(_, port)| **port != Table::NONE);
        let mut count = 0;
        for (lid, port) in entries {
            count += 1;
            write!(out, "{lid:#06x} {port:03}")?;
            match owner.get(&(lid as u16)).filter(|device| device.guid != 0) {
                Some(device) => {
                    writeln!(out, " # {} portguid {:#018x}: '{}'", device.kind.name(), device.guid, device.name)?;
                }
                None => writeln!(out)?,
            }
        }
        writeln!(out, "{count} lids dumped")?;
    }
    Ok(())
}
