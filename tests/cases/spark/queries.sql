-- Queries over TPC-DS tables; a comment before each is its name. All but the last one are offloaded as a whole.

-- filter and project
select i_item_sk, i_brand, i_current_price * 2 from item where i_current_price > 50 and i_color <> 'red'

-- group and top-n
select d_year, i_brand_id, sum(ss_ext_sales_price) s from store_sales join item on ss_item_sk = i_item_sk join
    date_dim on d_date_sk = ss_sold_date_sk where d_moy = 11 group by 1, 2 order by 1, s desc, 2 limit 10

-- every aggregate
select ss_store_sk, count(*), count(ss_promo_sk), count(distinct ss_item_sk), min(ss_quantity), max(ss_list_price),
    avg(ss_list_price), avg(ss_quantity), stddev_samp(ss_quantity), sum(ss_net_profit) filter (where ss_quantity >
    50) from store_sales group by ss_store_sk

-- an aggregate of nothing
select count(*), sum(ss_quantity), avg(ss_list_price) from store_sales where ss_quantity > 1000

-- left join
select i_item_sk, sr_return_quantity from item left join store_returns on i_item_sk = sr_item_sk and
    sr_return_quantity > 30 where i_item_sk < 200

-- full join
select a.d_moy, b.d_moy from (select distinct d_moy from date_dim where d_moy < 8) a full join (select distinct
    d_moy from date_dim where d_moy > 5) b on a.d_moy = b.d_moy

-- semi and anti join
select count(*) from customer where c_customer_sk in (select ss_customer_sk from store_sales) and not exists
    (select 1 from store_returns where sr_customer_sk = c_customer_sk)

-- not in with nulls
select count(*) from item where i_item_sk not in (select ss_promo_sk from store_sales)

-- exists or
select count(*) from customer where c_birth_year > 1980 or exists (select 1 from store_sales where ss_customer_sk =
    c_customer_sk and ss_quantity > 90)

-- scalar subquery
select count(*) from store_sales where ss_list_price > (select avg(ss_list_price) from store_sales)

-- rollup
select i_category, i_class, sum(i_wholesale_cost) from item group by rollup(i_category, i_class)

-- windows
select i_category, i_item_sk, rank() over (partition by i_category order by i_current_price desc) r,
    avg(i_current_price) over (partition by i_category) a, sum(i_current_price) over (partition by i_category order
    by i_item_sk rows between 2 preceding and current row) s from item where i_item_sk < 300

-- union
select i_brand b from item where i_item_sk < 9 union all select s_store_name from store

-- distinct
select distinct ss_store_sk, ss_promo_sk from store_sales

-- intersect
select i_manager_id from item where i_color = 'red' intersect select i_manager_id from item where i_size = 'medium'

-- text
select substring(i_item_desc, 3, 5), upper(i_color), i_brand like '%max%', length(i_size), trim(i_units), case when
    i_color in ('red', 'blue') then 'x' when i_color is null then 'none' else i_color end from item

-- dates
select year(d_date), month(d_date), day(d_date), date_add(d_date, 40), datediff(d_date, date'2000-01-01') from
    date_dim where d_date between date'1999-12-20' and date'2000-03-02'

-- decimals
select ss_list_price / ss_sales_price, ss_net_profit * ss_list_price, ss_net_profit - 1, cast(ss_net_profit as
    int), round(ss_list_price, 1), ss_quantity / 3, ss_quantity div 7, ss_quantity % 7 from store_sales where
    ss_sales_price > 0 and ss_item_sk < 50

-- nulls in keys
select count(*) from store_sales a join store_returns b on a.ss_promo_sk <=> b.sr_reason_sk where a.ss_item_sk < 20

-- order of everything
select c_customer_sk, c_last_name from customer order by c_last_name nulls first, c_customer_sk desc

-- offset
select i_item_sk from item order by i_item_sk limit 5 offset 7

-- one row beside
select i_item_sk, best, low, i_color from (select (select max(i_current_price) from item) best, cast(null as int) low)
    cross join item where i_current_price > 0.9 * best or low is null and i_item_sk < 9

-- one row beside nothing
select w.top, i_item_sk from item cross join (select (select max(i_item_sk) from item where i_item_sk < 0) top) w
    where i_item_sk > w.top

-- partly
select i_category, size(collect_set(i_color)) from item where i_item_sk < 50 group by i_category
