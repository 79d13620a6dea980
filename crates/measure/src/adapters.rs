//! The network adapters of this host as the kernel shows them: model, driver, firmware, the path to the processor. A
//! fact that the kernel does not show is absent.

use crate::counters::entries;
use serde_json::{Map, Value};
use std::path::Path;

/// An adapter's facts by name, and where they are in its folder.
const FACTS: [(&str, &str); 11] = [
    ("model", "hca_type"),
    ("board", "board_id"),
    ("firmware", "fw_ver"),
    ("driver_version", "device/driver/module/version"),
    ("pci_vendor", "device/vendor"),
    ("pci_device", "device/device"),
    ("pcie_speed", "device/current_link_speed"),
    ("pcie_lanes", "device/current_link_width"),
    ("rate", "ports/1/rate"),
    ("link_layer", "ports/1/link_layer"),
    ("speed_Mbitps", "speed"),
];

/// This host's adapters: InfiniBand's and RoCE's, then interfaces of devices that are none of those.
pub fn adapters() -> Vec<Map<String, Value>> {
    below(Path::new("/sys/class"))
}

/// Those of a tree like `/sys/class`.
fn below(root: &Path) -> Vec<Map<String, Value>> {
    let devices = |class: &str| {
        let all = entries(&root.join(class)).into_iter();
        // An interface without a device is no hardware: a loopback, a bridge.
        all.filter_map(|(name, folder)| Some((folder.join("device").canonicalize().ok()?, name, folder)))
    };
    let fabric: Vec<_> = devices("infiniband").collect();
    let plain = devices("net").filter(|(device, _, _)| fabric.iter().all(|(known, _, _)| known != device));
    let plain: Vec<_> = plain.collect();
    fabric.iter().chain(&plain).map(|(_, name, folder)| facts(name, folder)).collect()
}

fn facts(name: &str, folder: &Path) -> Map<String, Value> {
    let mut found = Map::from_iter([("name".to_owned(), name.into())]);
    let driver = folder.join("device/driver").canonicalize().ok();
    if let Some(driver) = driver.as_deref().and_then(Path::file_name) {
        found.insert("driver".to_owned(), driver.to_string_lossy().into());
    }
    for (key, file) in FACTS {
        let text = std::fs::read_to_string(folder.join(file)).ok();
        // A link that is down has the speed -1; a fact without text is none.
        let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty() && text != "-1");
        found.extend(text.map(|text| (key.to_owned(), text.into())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn an_adapter_is_told_by_what_the_kernel_shows_and_hardware_alone_is_one() {
        let root = std::env::temp_dir().join(format!("hotlink-adapters-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("drivers/mlx5_core/module/version", "24.10-1.1.4\n");
        for (slot, vendor) in [("81", "0x15b3"), ("01", "0x8086")] {
            write(&format!("devices/{slot}/vendor"), vendor);
        }
        symlink(root.join("drivers/mlx5_core"), root.join("devices/81/driver")).unwrap();
        write("infiniband/mlx5_0/fw_ver", "28.43.1014\n");
        write("infiniband/mlx5_0/hca_type", "MT4129\n");
        write("infiniband/mlx5_0/board_id", "\n");
        write("infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
        write("net/ib0/mtu", "2044\n");
        write("net/eth0/speed", "-1\n");
        write("net/lo/mtu", "65536\n");
        for (adapter, slot) in [("infiniband/mlx5_0", "81"), ("net/ib0", "81"), ("net/eth0", "01")] {
            symlink(root.join("devices").join(slot), root.join(adapter).join("device")).unwrap();
        }
        let found = Value::from_iter(below(&root));
        std::fs::remove_dir_all(&root).unwrap();
        let expected = serde_json::json!([
            {"name": "mlx5_0", "driver": "mlx5_core", "model": "MT4129", "firmware": "28.43.1014",
             "driver_version": "24.10-1.1.4", "pci_vendor": "0x15b3", "rate": "400 Gb/sec (4X NDR)"},
            {"name": "eth0", "pci_vendor": "0x8086"},
        ]);
        assert_eq!(found, expected);
    }
}
