import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.StringJoiner;

/** The calls of JDBC that a database browser makes, each with its answer in a line. */
final class FlightSqlCalls {
    public static void main(String[] arguments) throws SQLException {
        Properties properties = new Properties();
        properties.put("user", arguments[1]);
        properties.put("password", arguments[2]);
        properties.put("useEncryption", "false");
        try (Connection connection = DriverManager.getConnection(arguments[0], properties)) {
            DatabaseMetaData about = connection.getMetaData();
            for (Method method : DatabaseMetaData.class.getMethods()) {
                if (method.getParameterCount() == 0 && !method.getReturnType().equals(ResultSet.class)) {
                    System.out.println(method.getName() + ": " + answer(method, about));
                }
            }
            show("catalogs", about.getCatalogs(), 1);
            show("schemas", about.getSchemas(), 1, 2);
            show("table types", about.getTableTypes(), 1);
            show("tables", about.getTables(null, null, "%", new String[] {"TABLE", "VIEW"}), 2, 3, 4);
            show("columns", about.getColumns(null, "main", "t", "%"), 3, 4, 5, 17);
            show("primary keys", about.getPrimaryKeys(null, "main", "t"), 4);
            show("imported keys", about.getImportedKeys(null, "main", "t"), 4);
            show("exported keys", about.getExportedKeys(null, "main", "t"), 4);
            show("cross reference", about.getCrossReference(null, "main", "t", null, "main", "t"), 4);
            show("types", about.getTypeInfo(), 1, 2);
            try (Statement statement = connection.createStatement()) {
                String text = "SELECT b, count(*) AS n FROM t WHERE a < 20 GROUP BY b ORDER BY b";
                show("query", statement.executeQuery(text), 1, 2);
                System.out.println("changed: " + statement.executeUpdate("CREATE TABLE own AS SELECT 1 AS k"));
                System.out.println("changed: " + statement.executeUpdate("INSERT INTO own VALUES (2), (3)"));
                show("own", statement.executeQuery("SELECT sum(k) AS s FROM own"), 1);
            }
            try (PreparedStatement prepared = connection.prepareStatement("SELECT max(a) AS m FROM t")) {
                ResultSetMetaData columns = prepared.getMetaData();
                System.out.println("prepared: " + columns.getColumnCount() + " " + columns.getColumnLabel(1));
                show("prepared", prepared.executeQuery(), 1);
            }
            String text = "SELECT a, b FROM t WHERE b = ? AND a < ? ORDER BY a";
            try (PreparedStatement prepared = connection.prepareStatement(text)) {
                prepared.setString(1, "x5");
                prepared.setLong(2, 20);
                show("with parameters", prepared.executeQuery(), 2);
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeQuery("SELECT nothing FROM t");
            } catch (SQLException error) {
                System.out.println("error: " + error.getMessage().contains("\"nothing\" not found"));
            }
        }
    }

    private static Object answer(Method method, DatabaseMetaData about) {
        try {
            return method.invoke(about);
        } catch (InvocationTargetException | IllegalAccessException error) {
            return "failed: " + error.getCause();
        }
    }

    private static void show(String name, ResultSet rows, int... columns) throws SQLException {
        StringJoiner found = new StringJoiner("; ", name + ": ", "");
        try (rows) {
            while (rows.next()) {
                StringJoiner row = new StringJoiner(",");
                for (int column : columns) {
                    row.add(String.valueOf(rows.getObject(column)));
                }
                found.add(row.toString());
            }
        }
        System.out.println(found);
    }
}
