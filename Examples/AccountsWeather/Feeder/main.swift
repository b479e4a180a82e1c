import EventLoop
@preconcurrency import Glibc

setvbuf(stdout, nil, _IOLBF, 0)
Signals.ignoreFailedWrites()
do {
    let line = try FeederCommandLine(Array(CommandLine.arguments.dropFirst()))
    let feeder = try Feeder(server: line.server, keyFile: line.key)
    while true {
        do {
            let forecast = try await feeder.feed(from: line.source)
            print("\(forecast.city): \(forecast.description), \(forecast.temperature) °C")
        } catch {
            guard line.every != nil else { throw error }
            // The next time may be better.
            fputs("hearth-weather-feeder: \(error)\n", stderr)
        }
        guard let every = line.every else { break }
        try await Task.sleep(for: every)
    }
} catch FeederCommandLine.Failure.helpWanted {
    print(FeederCommandLine.help)
} catch FeederCommandLine.Failure.wrong(let text) {
    fputs("hearth-weather-feeder: \(text)\nhearth-weather-feeder --help explains.\n", stderr)
    exit(2)
} catch {
    fputs("hearth-weather-feeder: \(error)\n", stderr)
    exit(1)
}
