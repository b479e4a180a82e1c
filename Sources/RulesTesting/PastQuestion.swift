/// A question of a test about the past of a place. Times are milliseconds since 1970.
enum PastQuestion {
    case value(at: Int64)
    /// To be restored.
    case whole(at: Int64)
    /// Without a second time, from the first one until now.
    case differences(from: Int64, to: Int64?)
}
