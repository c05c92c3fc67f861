import java.sql.*;

public class Visits {
	static Connection db;

	static String word(boolean answer) { return answer ? "True" : "False"; }

	// The first row of an answer. Objects are sent as what they are in Java.
	static ResultSet ask(String sql, Object... parameters) throws SQLException {
		PreparedStatement statement = db.prepareStatement(sql);
		for (int i = 0; i < parameters.length; i++) statement.setObject(i + 1, parameters[i]);
		ResultSet rows = statement.executeQuery();
		rows.next();
		return rows;
	}

	public static void main(String[] arguments) throws Exception {
		db = DriverManager.getConnection(arguments[0]);        // jdbc:postgresql://localhost:5432/test?user=…
		ResultSet there = ask("SELECT hosts @> ?, hosts @> ? FROM month_filter", "192.0.2.7", "192.0.2.200");
		System.out.println("192.0.2.7: " + word(there.getBoolean(1)) + ", 192.0.2.200: " + word(there.getBoolean(2)));
		there = ask("SELECT bf_contains_any(uids, ?) FROM month_filter", (Object) new Long[] {5000L, 7L});
		System.out.println("one of 5000 and 7: " + word(there.getBoolean(1)));
		System.out.println("/page/1: " + Math.round(ask("SELECT tbf_count(hits, ?) FROM month_filter", "/page/1").getDouble(1)) + " hits");
		System.out.println("like %page/3%: " + ask("SELECT count(*) FROM visit WHERE url LIKE ?", "%page/3%").getLong(1) + " visits");
		System.out.println("192.0.2.7: " + ask("SELECT count(*) FROM chunk_scan(NULL::visit, 'host', ?)", "192.0.2.7").getLong(1) + " visits");
		boolean same = ask("SELECT hosts = ? FROM month_filter", ask("SELECT hosts FROM month_filter").getObject(1)).getBoolean(1);
		System.out.println("and back again: " + word(same));
		db.close();
	}
}
