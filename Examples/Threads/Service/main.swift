import EventLoop
@preconcurrency import Glibc

setvbuf(stdout, nil, _IOLBF, 0)
Signals.ignoreFailedWrites()
do {
    let line = try ServiceCommandLine(Array(CommandLine.arguments.dropFirst()))
    let server = try ThreadsServer(ThreadsServer.Configuration(address: line.address, url: line.server))
    let ended = Semaphore()
    try server.onSignals { ended.signal() }
    print("hearth-threads-service: ready on \(server.address)")
    ended.wait()
    server.stop()
} catch ServiceCommandLine.Failure.helpWanted {
    print(ServiceCommandLine.help)
} catch ServiceCommandLine.Failure.wrong(let text) {
    fputs("hearth-threads-service: \(text)\nhearth-threads-service --help explains.\n", stderr)
    exit(2)
} catch {
    fputs("hearth-threads-service: \(error)\n", stderr)
    exit(1)
}
