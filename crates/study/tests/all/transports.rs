//! What options of transports and switches become, and which of them are refused.

use hotlink_sim::Settings;
use hotlink_study::Source;
use hotlink_study::options::{Ethernet, Transport};
use hotlink_study::transports::Control;
use hotlink_study::words::Word;

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
    let source = thresholds.equipped(&source, Ethernet::Pause).unwrap();
    let fabric = source.build(8).unwrap();
    let told = thresholds.applied(source.spec(), &fabric, Settings::of(&fabric.spec)).unwrap_err();
    assert!(told.contains("--ecn-low is above --ecn-high"), "{told}");
}
