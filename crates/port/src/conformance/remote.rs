//! Remote stores and loads.

use super::*;

/// A key in a control message.
fn words(key: Key) -> Head {
    [u64::from(key.rank), key.id, key.bytes, 0]
}

fn key(head: Head) -> Key {
    Key { rank: head[0] as Rank, id: head[1], bytes: head[2] }
}

/// What to transfer: by which engine, to which kind of memory, in what layouts.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    deposit: bool,
    engine: Engine,
    kind: Kind,
    local: Layout,
    remote: Layout,
    offset: u64,
}

fn transfers(limits: &Limits, kinds: &[Kind]) -> Vec<Transfer> {
    let mut all = Vec::new();
    for (deposit, claim) in [(true, limits.deposit), (false, limits.fetch)] {
        let Some(claim) = claim else { continue };
        for &kind in kinds.iter().filter(|&&kind| kind == Kind::Shared || limits.registration.private) {
            for engine in [Engine::Pio, Engine::Dma] {
                let mappable = kind == Kind::Shared || limits.registration.private_mappable;
                let claimed = match engine {
                    Engine::Pio => claim.pio && mappable,
                    Engine::Dma => claim.dma,
                };
                if !claimed {
                    continue;
                }
                let step = if engine == Engine::Dma { claim.dma_align.max(1) } else { 1 };
                for (local, remote) in layouts(step, claim.strided, claim.bytes_max) {
                    for offset in [0, step, 7 * step] {
                        all.push(Transfer { deposit, engine, kind, local, remote, offset });
                    }
                }
            }
        }
    }
    all
}

/// Pairs of layouts whose lengths are multiples of `step`.
fn layouts(step: u64, strided: bool, most: u64) -> Vec<(Layout, Layout)> {
    let sizes = [1, 2, 3, 8, 64, 65, 1000, 4096, 4097].map(|size: u64| size.next_multiple_of(step));
    let mut pairs: Vec<_> = sizes.map(|size| (Layout::contiguous(size), Layout::contiguous(size))).to_vec();
    if strided {
        let word = 8_u64.next_multiple_of(step);
        for stride in [2, 3, 8] {
            let gaps = Layout::strided(word, 100, stride * word);
            pairs.push((Layout::contiguous(100 * word), gaps));
            pairs.push((gaps, Layout::strided(word, 100, 2 * word)));
        }
        let row = 40_u64.next_multiple_of(step);
        pairs.push((Layout::strided(row, 20, 3 * row), Layout::contiguous(20 * row)));
        pairs.push((Layout::contiguous(400 * row), Layout::strided(row, 400, 2 * row)));
    }
    pairs.retain(|(local, _)| local.bytes() <= most);
    pairs
}

/// Every claimed path of moving data to and from remote memory moves exactly the bytes named.
pub(super) struct Transfers;

impl<P: Port> Program<P, Vec<String>> for Transfers {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let kinds = subject.kinds();
        for (number, transfer) in transfers(&subject.limits, &kinds).into_iter().enumerate() {
            if subject.port.rank() == 0 {
                act(&mut subject, number as u64, transfer).await;
            } else {
                own(&mut subject, number as u64, transfer).await;
            }
        }
        subject.complaints
    }
}

fn size(layout: &Layout, offset: u64) -> u64 {
    2 * MARGIN + offset + layout.extent()
}

/// Rank 1 exports memory; after a deposit it checks what is there.
async fn own<P: Port>(subject: &mut Subject<P>, number: u64, transfer: Transfer) {
    let size = size(&transfer.remote, transfer.offset);
    let at = MARGIN + transfer.offset;
    let memory = subject.alloc(size, transfer.kind);
    let stream = pattern(number, transfer.remote.bytes());
    let filled =
        if transfer.deposit { vec![SENTINEL; size as usize] } else { expected(size, at, &transfer.remote, &stream) };
    let _ = subject.port.write(memory, 0, &filled);
    let key = loop {
        match subject.port.register(memory) {
            Ok(key) => break key,
            Err(Refusal::NoEntries | Refusal::PinLimit) => wait(&mut subject.port, Time::ZERO).await,
            Err(refusal) => panic!("register: {refusal}"),
        }
    };
    subject.send(0, words(key), Payload::None).await;
    subject.receive().await;
    let seen = subject.bytes_of(memory, size);
    let wanted = expected(size, at, &transfer.remote, &stream);
    subject.expect(seen == wanted, || format!("wrong bytes after {transfer:?}"));
    let ended = subject.port.unregister(key);
    subject.expect(ended.is_ok(), || format!("unregister: {ended:?}"));
    let _ = subject.port.free(memory);
    subject.send(0, [0; 4], Payload::None).await;
}

/// Rank 0 imports it and moves the data.
async fn act<P: Port>(subject: &mut Subject<P>, number: u64, transfer: Transfer) {
    let (_, head, _) = subject.receive().await;
    let attachment = loop {
        match subject.port.attach(key(head), transfer.engine) {
            Ok(attachment) => break attachment,
            Err(Refusal::NoEntries) => wait(&mut subject.port, Time::ZERO).await,
            Err(refusal) => panic!("attach {transfer:?}: {refusal}"),
        }
    };
    let bytes = size(&transfer.local, 0);
    let memory = subject.alloc(bytes, transfer.kind);
    let claim = if transfer.deposit { subject.limits.deposit } else { subject.limits.fetch };
    let needs = claim.is_some_and(|claim| claim.dma_needs_registration) && transfer.engine == Engine::Dma;
    let registration = if needs { patient(subject, |port| port.register(memory)).await } else { None };
    let local = Span { memory, offset: MARGIN, layout: transfer.local };
    let remote = RemoteSpan { attachment, offset: MARGIN + transfer.offset, layout: transfer.remote };
    let stream = pattern(number, transfer.local.bytes());
    let (engine, token) = (transfer.engine, number);
    let op = if transfer.deposit {
        let _ = subject.port.write(memory, 0, &expected(bytes, MARGIN, &transfer.local, &stream));
        Op::Deposit { from: local, to: remote, engine, token }
    } else {
        let _ = subject.port.write(memory, 0, &vec![SENTINEL; bytes as usize]);
        Op::Fetch { from: remote, to: local, engine, token }
    };
    let posted = subject.post(&op).await;
    subject.expect(posted.is_ok(), || format!("{transfer:?}: {posted:?}"));
    let early = transfer.deposit && subject.limits.ordered;
    if early {
        subject.send(1, [0; 4], Payload::None).await;
    }
    if posted.is_ok() {
        let done = subject.done(token).await;
        subject.expect(done.is_ok(), || format!("{transfer:?}: {done:?}"));
    }
    if !transfer.deposit {
        let seen = subject.bytes_of(memory, bytes);
        subject.expect(seen == expected(bytes, MARGIN, &transfer.local, &stream), || {
            format!("wrong bytes after {transfer:?}")
        });
    }
    if !early {
        subject.send(1, [0; 4], Payload::None).await;
    }
    let detached = subject.port.detach(attachment);
    subject.expect(detached.is_ok(), || format!("detach: {detached:?}"));
    if let Some(key) = registration {
        let _ = subject.port.unregister(key);
    }
    let _ = subject.port.free(memory);
    subject.receive().await;
}

/// Exported memory that goes away is announced, and no transfer reaches it any more.
pub(super) struct Revocation;

impl<P: Port> Program<P, Vec<String>> for Revocation {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let claimed = subject.limits.deposit.filter(|claim| claim.dma);
        let kind = if subject.limits.segments { Kind::Shared } else { Kind::Private };
        if claimed.is_none() || (kind == Kind::Private && !subject.limits.registration.private) {
            return subject.complaints;
        }
        let memory = subject.alloc(4096, kind);
        if subject.port.rank() == 1 {
            let Some(key) = patient(&mut subject, |port| port.register(memory)).await else {
                return subject.complaints;
            };
            subject.send(0, words(key), Payload::None).await;
            subject.receive().await;
            let ended = subject.port.unregister(key);
            subject.expect(ended.is_ok(), || format!("unregister: {ended:?}"));
            let again = subject.port.unregister(key);
            subject.expect(again == Err(Refusal::Gone), || format!("unregistered twice: {again:?}"));
            subject.send(0, [1; 4], Payload::None).await;
            return subject.complaints;
        }
        let (_, head, _) = subject.receive().await;
        let key = key(head);
        let attach = |port: &mut P| port.attach(key, Engine::Dma);
        let Some(attachment) = patient(&mut subject, attach).await else { return subject.complaints };
        subject.send(1, [0; 4], Payload::None).await;
        let (mut revoked, mut told) = (false, false);
        while !(revoked && told) {
            match subject.next().await.0 {
                Event::Revoked(gone) => revoked |= (gone.rank, gone.id) == (key.rank, key.id),
                Event::Control { .. } => told = true,
                other => subject.expect(false, || format!("unexpected {other:?}")),
            }
        }
        let again = patient(&mut subject, attach).await;
        subject.expect(again.is_none(), || "a revoked key can be attached".to_owned());
        let to = RemoteSpan { attachment, offset: 0, layout: Layout::contiguous(64) };
        let op = Op::Deposit { from: Span::new(memory, 0, 64), to, engine: Engine::Dma, token: 9 };
        let posted = subject.post(&op).await;
        let ended = if posted.is_ok() { subject.done(9).await } else { posted };
        subject.expect(ended.is_err(), || "a deposit into revoked memory ends well".to_owned());
        subject.complaints
    }
}

/// Sets something up, trying again while resources are scarce; `None` when it is refused for good.
async fn patient<P: Port, T>(subject: &mut Subject<P>, setup: impl Fn(&mut P) -> Result<T, Refusal>) -> Option<T> {
    for _ in 0..1000 {
        match setup(&mut subject.port) {
            Ok(done) => return Some(done),
            Err(Refusal::NoEntries | Refusal::PinLimit | Refusal::NoMemory) => {
                wait(&mut subject.port, Time::ZERO).await
            }
            Err(_) => return None,
        }
    }
    None
}

/// What the limits do not claim is refused, and so is nonsense.
pub(super) struct Unclaimed;

impl<P: Port> Program<P, Vec<String>> for Unclaimed {
    async fn run(&self, port: P) -> Vec<String> {
        let mut subject = Subject::new(port);
        let memory = subject.alloc(64, Kind::Private);
        let remote =
            |offset| RemoteSpan { attachment: crate::Attachment(u64::MAX), offset, layout: Layout::contiguous(8) };
        let span = Span::new(memory, 0, 8);
        for engine in [Engine::Pio, Engine::Dma] {
            for op in [
                Op::Deposit { from: span, to: remote(0), engine, token: 1 },
                Op::Fetch { from: remote(0), to: span, engine, token: 1 },
            ] {
                let posted = subject.post(&op).await;
                let ended = if posted.is_ok() { subject.done(1).await } else { posted };
                subject.expect(ended.is_err(), || format!("{op:?} through no attachment ends well"));
            }
        }
        if !subject.limits.barrier {
            let posted = subject.post(&Op::Barrier { token: 1 }).await;
            subject.expect(posted == Err(Refusal::Unsupported), || format!("unclaimed hardware barrier: {posted:?}"));
        }
        if !subject.limits.broadcast {
            let op = Op::Broadcast { head: [0; 4], payload: Payload::None, token: 1 };
            let posted = subject.post(&op).await;
            subject.expect(posted == Err(Refusal::Unsupported), || format!("unclaimed hardware broadcast: {posted:?}"));
        }
        if subject.limits.reduction.is_none() {
            let operation = Operation { combine: Combine::Sum, element: Element::I64 };
            let posted =
                subject.post(&Op::Reduce { operation, share: Share::All, from: span, to: span, token: 1 }).await;
            subject.expect(posted == Err(Refusal::Unsupported), || format!("unclaimed hardware reduction: {posted:?}"));
        }
        let wild = subject.port.attach(Key { rank: 0, id: u64::MAX - 3, bytes: 8 }, Engine::Dma);
        subject.expect(wild.is_err(), || "a key that nobody gave can be attached".to_owned());
        subject.complaints
    }
}
