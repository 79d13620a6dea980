//! The meaning of options of transports and switches, and those that are refused.

use hotlink_sim::Settings;
use hotlink_study::Source;
use hotlink_study::options::{Ethernet, Transport};
use hotlink_study::transports::Control;
use hotlink_study::words::Word;
use hotlink_transport::{Marks, Threshold};

#[test]
fn every_transport_has_its_numbers_and_every_number_is_used() {
    let source = Source::open("eth-400g-leaf-spine").unwrap();
    for &transport in Transport::ALL {
        let control = Control { transport, ..Control::usual() };
        let equipped = control.equipped(&source, Ethernet::Pause).unwrap().unasked();
        let fabric = equipped.build(8).unwrap();
        let settings = control.applied(equipped.spec(), &fabric, Settings::of(&fabric.spec)).unwrap();
        assert_eq!(settings.transport.is_some(), !matches!(transport, Transport::None | Transport::Ecn));
        let prefix = format!("{}_", transport.name());
        let is_own = |name: &&String| name.starts_with(&prefix) && transport != Transport::Ecn;
        let asked = equipped.spec().parameters.asked();
        for name in equipped.spec().parameters.keys().filter(is_own) {
            assert!(asked.contains(name), "{name} is in the catalog, and nothing reads it");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let dcqcn = Control { transport: Transport::Dcqcn, ..Control::usual() };
    let told = dcqcn.equipped(&Source::open("ib-ndr-fat-tree2").unwrap(), Ethernet::Pause).err().unwrap();
    assert!(told.contains("ib-ndr-fat-tree2 has credit"), "{told}");
    let thresholds = Control { ecn_low: Some(9), ecn_high: Some(5), ..dcqcn };
    assert!(Control::each(&[Transport::Swift], Ethernet::Pause, thresholds).unwrap_err().contains("heed marks"));
    let each = Control::each(&[Transport::Swift, Transport::Dcqcn], Ethernet::Drop, thresholds).unwrap();
    assert_eq!((each[0].ecn_low, each[1].ecn_low), (None, Some(9)));
    assert!(
        Control::each(&[], Ethernet::Pause, Control { buffer: Some(0), ..dcqcn }).unwrap_err().contains("--buffer 0")
    );
    assert!(Control::each(&[Transport::Nscc], Ethernet::Ecn, dcqcn).unwrap_err().contains("--ethernet ecn"));
    // Bytes are bytes of the buffer, also where the machine pauses at a share of it.
    let source = Source::open("eth-400g-leaf-spine").unwrap();
    let fabric = source.build(8).unwrap();
    let bytes = Control { buffer: Some(64 << 10), resume: Some(16 << 10), ..Control::usual() };
    let settings = bytes.applied(source.spec(), &fabric, Settings::of(&fabric.spec)).unwrap();
    assert_eq!((settings.pause_share, settings.resume_share), (None, Some(0.25)));
    // Two packets of 4096 B of payload and 82 B of headers.
    let buffer = |bytes, packet_bytes| {
        let of = Control { buffer: Some(bytes), ..Control::usual() };
        let settings = of.applied(source.spec(), &fabric, Settings { packet_bytes, ..Settings::of(&fabric.spec) });
        settings.map(|settings| settings.switch_buffer_bytes)
    };
    let told = buffer(8355, None).unwrap_err();
    assert!(told.starts_with("--buffer 8355: must hold two packets of 4178 B on the wire"), "{told}");
    assert!(told.contains("8356 B to 1 GiB on eth-400g-leaf-spine; see --packet-size"), "{told}");
    assert_eq!((buffer(8356, None), buffer(8355, Some(1024))), (Ok(8356), Ok(8355)));
    let source = thresholds.equipped(&source, Ethernet::Pause).unwrap();
    let fabric = source.build(8).unwrap();
    let told = thresholds.applied(source.spec(), &fabric, Settings::of(&fabric.spec)).unwrap_err();
    assert!(told.contains("--ecn-low is above --ecn-high"), "{told}");
}

/// Times become bytes where all ports have one rate. Where they differ each port has its own, and records give the
/// times.
#[test]
fn thresholds_given_as_time_are_those_of_each_port() {
    let marks_and_record = |fabric: &str, of: Control| {
        let source = of.equipped(&Source::open(fabric).unwrap(), Ethernet::Pause).unwrap();
        let built = source.build(16).unwrap();
        let settings = of.applied(source.spec(), &built, Settings::of(&built.spec))?;
        let record = of.told(hotlink_bench::Record::new(), Ethernet::Pause, &settings);
        let told = ["ecn_low_B", "ecn_high_B", "ecn_low_us", "ecn_high_us"];
        let told = told.map(|key| record.get(key).map(ToString::to_string).unwrap_or_default());
        Ok::<(Marks, [String; 4]), String>((settings.transport.unwrap().ecn.unwrap(), told))
    };
    let dcqcn = Control { transport: Transport::Dcqcn, ..Control::usual() };
    let (marks, told) = marks_and_record("eth-400g-leaf-spine", dcqcn).unwrap();
    // 1 us and 40 us at 400 Gbit/s.
    assert_eq!((marks.low, marks.high), (Threshold::Bytes(50e3), Threshold::Bytes(2e6)));
    assert_eq!(told, ["50000.0", "2000000.0", "", ""]);
    // NVLink inside the hosts, Ethernet between them.
    let (marks, told) = marks_and_record("hgx-h100-pod-eth", dcqcn).unwrap();
    assert_eq!((marks.low, marks.high), (Threshold::Time(1e6), Threshold::Time(40e6)));
    assert_eq!(told, ["", "", "1.0", "40.0"]);
    assert_eq!((marks.at(50e9).high_bytes, marks.at(12.5e9).high_bytes), (2e6, 500e3));
    // Bytes stay bytes; with a time they must go together at every port.
    let low = |bytes| Control { ecn_low: Some(bytes), ..dcqcn };
    let (marks, told) = marks_and_record("hgx-h100-pod-eth", low(100_000)).unwrap();
    assert_eq!((marks.low, marks.high), (Threshold::Bytes(100e3), Threshold::Time(40e6)));
    assert_eq!(told, ["100000.0", "", "", "40.0"]);
    let told = marks_and_record("hgx-h100-pod-eth", low(3_000_000)).unwrap_err();
    assert!(told.contains("marks from 3000000 B to 2000000 B: --ecn-low is above --ecn-high"), "{told}");
}

/// A table of several transports has the column filled, also of none.
#[test]
fn a_transport_that_was_named_is_told_also_where_it_is_none() {
    let transports = |asked: &[Transport]| -> Vec<Option<String>> {
        let each = Control::each(asked, Ethernet::Pause, Control::usual()).unwrap();
        assert!(asked.len() == 2 || each.iter().all(Control::is_usual));
        let fabric = Source::open("eth-400g-leaf-spine").unwrap().build(8).unwrap();
        let settings = Settings::of(&fabric.spec);
        let told = |of: &Control| of.told(hotlink_bench::Record::new(), Ethernet::Pause, &settings);
        each.iter().map(|of| told(of).get("transport").map(ToString::to_string)).collect()
    };
    assert_eq!(transports(&[]), [None]);
    assert_eq!(transports(&[Transport::None]), [Some("\"none\"".to_owned())]);
    let told = transports(&[Transport::None, Transport::Dcqcn]);
    assert_eq!(told, [Some("\"none\"".to_owned()), Some("\"dcqcn\"".to_owned())]);
}
