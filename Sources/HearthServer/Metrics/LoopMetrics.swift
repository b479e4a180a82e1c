import HearthEventLoop
import HearthRealtimeDatabase
import HearthSystem

/// What one event loop counts for ``MetricsPage``. On its thread; a copy goes to the page.
struct LoopMetrics: Sendable {
    enum Transport: Int, CaseIterable, Sendable {
        case webSocket, longPolling, eventStream, http

        var name: StaticString {
            switch self {
            case .webSocket: "websocket"
            case .longPolling: "long_polling"
            case .eventStream: "event_stream"
            case .http: "http"
            }
        }
    }

    /// Why a connection ended.
    enum End: Int, CaseIterable, Sendable {
        case client, server, reset, timeout, slowConsumer, shutdown, tls, error

        init(_ reason: CloseReason) {
            self =
                switch reason {
                case .peer: .client
                case .local: .server
                case .reset: .reset
                case .timedOut: .timeout
                case .slowConsumer: .slowConsumer
                case .shutdown: .shutdown
                case .tls: .tls
                case .nameNotFound, .forbidden, .notConnected, .system: .error
                }
        }

        var name: StaticString {
            switch self {
            case .client: "client"
            case .server: "server"
            case .reset: "reset"
            case .timeout: "timeout"
            case .slowConsumer: "slow_consumer"
            case .shutdown: "shutdown"
            case .tls: "tls"
            case .error: "error"
            }
        }
    }

    private(set) var opened = [Int64](repeating: 0, count: Transport.allCases.count)
    private(set) var closed = [Int64](repeating: 0, count: End.allCases.count)
    /// From the turn of the loop that receives a request to the one that sends its answer. Over HTTP each request is
    /// measured, on a realtime connection one at a time.
    private(set) var latencies = [Histogram](
        repeating: Histogram(.durations), count: RequestTally.Kind.allCases.count)
    /// Messages and events that commits have caused, once for each connection that got them.
    var pushes: Int64 = 0
    /// Event streams that go on.
    var eventStreams = 0

    mutating func noteOpened(_ transport: Transport) { opened[transport.rawValue] += 1 }

    mutating func noteClosed(_ reason: CloseReason) { closed[End(reason).rawValue] += 1 }

    mutating func noteAnswer(_ kind: RequestTally.Kind, since start: MonotonicTime, now: MonotonicTime) {
        latencies[kind.rawValue].addTime(since: start, now: now)
    }

    /// For the page: what the loop itself counts as well.
    struct Report: Sendable {
        var metrics: LoopMetrics
        var sessions: Int
        var polledSessions: Int
        var httpConnections: Int
        var bytesReceived: UInt64
        var bytesSent: UInt64
        var handshakes: Int
        var failedHandshakes: Int
        var turns: Histogram
    }
}
